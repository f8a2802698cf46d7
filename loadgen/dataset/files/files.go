// Package files reads dataset files record by record: JSON lines, JSON
// documents, CSV and TSV tables, Parquet, Arrow, compressed or not, folders of them,
// and records written inline. In goes a path, out comes one Record after the
// other, each with the place that an error about it names.
package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/diag"
)

// maxLine bounds one line or record of a file, in bytes.
const maxLine = 64 << 20

// Record is one object of a file or list, with the place it came from.
type Record struct {
	Place  string // path:line, path[i], or records[i]
	File   string // in a folder: the file's name; "" otherwise
	Fields *Fields
	Size   int   // bytes
	Bad    error // why it cannot be read, with its place; there are no Fields then
}

// Each hands over the records of a file, or of all files of a folder,
// in their order until f returns an error, which it passes on. Its own errors
// are "path:line: what".
func Each(path string, f func(Record) error) error { return All(path, sound(f)) }

// sound is f for records that can be read; the first that cannot be ends the reading.
func sound(f func(Record) error) func(Record) error {
	return func(r Record) error {
		if r.Bad != nil {
			return r.Bad
		}
		return f(r)
	}
}

// All is Each that goes on behind a record that cannot be read, where another one can be
// found behind it: f gets it as Bad.
func All(path string, f func(Record) error) error {
	if path == "" {
		return errors.New("a file dataset needs a path or records")
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return eachFile(path, f)
	}
	seen := 0
	err = readFile(path, func(r Record) error { seen++; return f(r) })
	if err == nil && seen == 0 {
		return fmt.Errorf("%s: no records", path)
	}
	return err
}

// EachOf hands over the records of several files, one after the other.
func EachOf(paths []string, f func(Record) error) error {
	for _, path := range paths {
		if err := readFile(path, sound(f)); err != nil {
			return err
		}
	}
	return nil
}

// extensions are the names that record files of a folder have.
var extensions = []string{".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".ipc", ".jsonl.gz"}

// eachFile reads the record files below a folder, in the order of their names.
func eachFile(dir string, f func(Record) error) error {
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != dir && holdsResults(path) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || !recordFile(path) || strings.HasPrefix(d.Name(), ".") {
			return nil
		}
		files++
		name, _ := filepath.Rel(dir, path)
		return readFile(path, func(r Record) error {
			r.File = filepath.ToSlash(name)
			return f(r)
		})
	})
	if err == nil && files == 0 {
		return fmt.Errorf("%s: a folder without record files (%s)", dir, strings.Join(extensions, ", "))
	}
	return err
}

// holdsResults reports whether a folder is one that a benchmark writes, or wrote:
// people let it write below the folder that it reads.
func holdsResults(dir string) bool {
	for _, name := range []string{".lock", "profile_export_aiperf.json"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func recordFile(path string) bool {
	for _, ext := range extensions {
		if strings.HasSuffix(strings.ToLower(path), ext) {
			return true
		}
	}
	return false
}

// readFile reads one file by what it is; any but Parquet and Arrow may be compressed with
// gzip.
func readFile(path string, f func(Record) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	k, err := kindOf(path, file)
	if err != nil {
		return err
	}
	switch k.kind {
	case parquetFile:
		return eachParquetRow(path, file, f)
	case arrowFile:
		return eachArrowRow(path, file, f)
	case csvTable:
		return eachCSVRow(path, k.in, ',', f)
	case tsvTable:
		return eachCSVRow(path, k.in, '\t', f)
	case jsonDocument:
		return eachElement(path, k.in, f)
	}
	return eachLine(path, k.in, f)
}

// What a file can be.
const (
	jsonLines = iota
	jsonDocument
	csvTable
	tsvTable
	parquetFile
	arrowFile
)

// kindWords are files that are read as a whole, in words; JSON lines are not.
var kindWords = map[int]string{
	jsonDocument: "a JSON document", csvTable: "a CSV table", tsvTable: "a TSV table",
	parquetFile: "a Parquet file", arrowFile: "an Arrow file",
}

// Whole is the size of a file that cannot be read line by line, in bytes, and
// what it is; 0 for JSON lines and for what is not a file.
func Whole(path string) (size int64, what string) {
	file, err := os.Open(path)
	if err != nil {
		return 0, ""
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return 0, ""
	}
	if k, err := kindOf(path, file); err == nil && kindWords[k.kind] != "" {
		return st.Size(), kindWords[k.kind]
	}
	return 0, ""
}

// opened is a file from its beginning, inflated, with what it is.
type opened struct {
	kind int
	gzip bool
	in   *bufio.Reader
}

// archives are ways to pack files that are not read, by their first bytes.
var archives = map[string]string{
	"PK\x03\x04": "ZIP", "PK\x05\x06": "ZIP", "\x28\xb5\x2f\xfd": "zstd", "BZh": "bzip2",
	"\xfd7zXZ\x00": "xz", "7z\xbc\xaf\x27\x1c": "7z", "Rar!": "RAR",
}

// archiveOf names the archive that a file begins like; "" for none.
func archiveOf(head []byte) string {
	for start, name := range archives {
		if bytes.HasPrefix(head, []byte(start)) {
			return name
		}
	}
	return ""
}

// kindOf tells what a file is by its first bytes and its name.
func kindOf(path string, file *os.File) (k opened, err error) {
	k.in = bufio.NewReaderSize(file, 64<<10)
	name := strings.ToLower(path)
	head, _ := k.in.Peek(8)
	if bytes.HasPrefix(head, []byte("PAR1")) {
		k.kind = parquetFile
		return k, nil
	}
	if bytes.HasPrefix(head, []byte(arrowMagic)) || bytes.HasPrefix(head, []byte(arrowStream)) {
		k.kind = arrowFile
		return k, nil
	}
	if archive := archiveOf(head); archive != "" {
		return k, diag.Errorf("%s: is packed with %s, which is not read", path, archive).
			Try("unpack it, or pack it with gzip")
	}
	if len(head) > 1 && head[0] == 0x1f && head[1] == 0x8b {
		z, err := inflate(path, k.in)
		if err != nil {
			return k, err
		}
		k.gzip, k.in = true, bufio.NewReaderSize(z, 64<<10)
		name = strings.TrimSuffix(name, ".gz")
	}
	switch {
	case strings.HasSuffix(name, ".csv"):
		k.kind = csvTable
	case strings.HasSuffix(name, ".tsv"):
		k.kind = tsvTable
	case isDocument(name, k.in):
		k.kind = jsonDocument
	case (strings.HasSuffix(name, ".arrow") || strings.HasSuffix(name, ".ipc")) && !k.gzip &&
		!bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n\ufeff"), []byte("{")):
		return k, diag.Errorf("%s: is not an Arrow file: it begins neither as a file nor as a stream of Arrow", path).
			Try("was it copied completely? Arrow and Parquet files, CSV and TSV tables, JSON and JSON lines are read")
	case strings.HasSuffix(name, ".parquet") && !k.gzip && !bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n\ufeff"),
		[]byte("{")):
		return k, diag.Errorf("%s: is not a Parquet file: it does not begin with PAR1", path).
			Try("was it copied completely? Parquet and Arrow files, CSV and TSV tables, JSON and JSON lines are read")
	}
	return k, nil
}

// maxInflated bounds what a compressed file may become, in bytes.
const maxInflated = 256 << 30

// inflated stops a compressed file that grows beyond all reason.
type inflated struct {
	in io.Reader
	n  int64
}

func (r *inflated) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return n, diag.Errorf("the compressed file ends too early").Try("was it copied completely?")
	}
	if r.n += int64(n); r.n > maxInflated {
		return 0, fmt.Errorf("inflates to more than %d GiB", maxInflated>>30)
	}
	return n, err
}

// isDocument tells one JSON document from JSON lines: the file is called .json
// and does not hold a whole object in its first line with more behind it, or
// it begins with a bracket.
func isDocument(name string, in *bufio.Reader) bool {
	head, _ := in.Peek(in.Size())
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if bytes.HasPrefix(head, []byte("[")) {
		return true
	}
	if !strings.HasSuffix(name, ".json") {
		return false
	}
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	return !json.Valid(first) || len(bytes.TrimSpace(rest)) == 0
}

// eachElement reads a JSON document: the elements of a list, or of the list
// "data" of an object, or the one object it is. Lists are read element by
// element.
func eachElement(path string, in io.Reader, f func(Record) error) error {
	lines := &lineEnds{in: in}
	d := json.NewDecoder(lines)
	i := 0
	documentError := func(place string, err error) error { return documentError(path, place, d, lines, err) }
	list := func() error {
		for ; d.More(); i++ {
			place := fmt.Sprintf("%s[%d]", path, i)
			var v json.RawMessage
			if err := d.Decode(&v); err != nil {
				return documentError(place, err)
			}
			if len(v) > maxLine {
				return diag.Errorf("%s: longer than %d MiB", place, maxLine>>20).
					Try("a whole record is held in memory: split it")
			}
			if err := f(newRecord(place, v)); err != nil {
				return err
			}
		}
		_, err := d.Token()
		return documentError(path, err)
	}
	start, err := d.Token()
	if err != nil {
		return documentError(path, err)
	}
	if start == json.Delim('[') {
		return list()
	}
	if start != json.Delim('{') {
		return fmt.Errorf("%s: not a JSON object or list", path)
	}
	whole := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return documentError(path, err)
		}
		var v json.RawMessage
		if key == "data" {
			if open, err := d.Token(); err == nil && open == json.Delim('[') {
				return list()
			}
			return fmt.Errorf("%s: data: want a list of records", path)
		}
		if err := d.Decode(&v); err != nil {
			return documentError(path, err)
		}
		whole[key.(string)] = v
	}
	b, err := json.Marshal(whole)
	if err != nil {
		return documentError(path, err)
	}
	return f(newRecord(path, b))
}

// documentError is an error of the decoder with the place where it failed: line and
// column of what is wrong, or the record that has no end.
func documentError(path, record string, d *json.Decoder, lines *lineEnds, err error) error {
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: the JSON document ends too early", record)
	case !errors.As(err, &syntax):
		return fmt.Errorf("%s: %w", record, err)
	}
	rest, _ := io.ReadAll(d.Buffered()) // of the decoder's own memory
	at := len(rest) - len(bytes.TrimLeft(rest, ", \t\r\n"))
	// else it is wrong where it begins
	if errors.As(json.NewDecoder(bytes.NewReader(rest[at:])).Decode(new(json.RawMessage)), &syntax) {
		at = min(at+max(int(syntax.Offset)-1, 0), len(rest))
	}
	place := path + lines.place(d.InputOffset()+int64(at), bytes.Count(rest[at:], []byte{'\n'}))
	before, wrong := bytes.TrimRight(rest[:at], " \t\r\n"), rest[at:]
	switch {
	case bytes.HasPrefix(wrong, []byte("/")) || bytes.HasPrefix(wrong, []byte("#")):
		return diag.Errorf("%s: JSON has no comments", place).Try("take it out")
	case len(wrong) > 0 && bytes.IndexByte([]byte(`"{[`), wrong[0]) >= 0 &&
		(len(before) == 0 || bytes.IndexByte([]byte(`]}`), before[len(before)-1]) >= 0):
		return diag.Errorf("%s: no comma between two values", place).Try("write one before this")
	}
	return fmt.Errorf("%s: not JSON: %w", place, syntax)
}

// lineEnds passes a document on and remembers where its latest lines end.
type lineEnds struct {
	in    io.Reader
	read  int64   // bytes so far
	lines int     // line ends so far
	ends  []int64 // offsets of the last of them, at most mostEnds
}

const mostEnds = 1 << 12

func (l *lineEnds) Read(b []byte) (int, error) {
	n, err := l.in.Read(b)
	for i, c := range b[:n] {
		if c == '\n' {
			l.lines++
			l.ends = append(l.ends, l.read+int64(i))
		}
	}
	if l.read += int64(n); len(l.ends) > 2*mostEnds {
		l.ends = slices.Delete(l.ends, 0, len(l.ends)-mostEnds)
	}
	return n, err
}

// place is :line:column of an offset with so many line ends behind it; the column only
// where the line's begin is remembered.
func (l *lineEnds) place(offset int64, behind int) string {
	line := l.lines - behind
	begin := int64(-1)
	if line > 0 {
		i := len(l.ends) - behind - 1
		if i < 0 {
			return fmt.Sprintf(":%d", line+1)
		}
		begin = l.ends[i]
	}
	return fmt.Sprintf(":%d:%d", line+1, offset-begin)
}

// newRecord reads one object. What is none is Bad.
func newRecord(place string, line []byte) Record {
	r := Record{Place: place, Size: len(line)}
	if at := bytes.IndexByte(line, 0); at >= 0 && utf8.Valid(line) {
		r.Bad = fmt.Errorf("%s: a NUL byte at byte %d: not text in UTF-8; want one JSON object per line", place, at+1)
		return r
	}
	if !utf8.Valid(line) {
		r.Bad = fmt.Errorf("%s: not text in UTF-8; want one JSON object per line", place)
		return r
	}
	f, err := New(line)
	if err != nil {
		r.Bad = fmt.Errorf("%s: %w", place, err)
		return r
	}
	r.Fields = f
	return r
}

// EachInline hands over records that stand in the experiment itself; pools by
// name stand for the files of a folder. One that cannot be read is Bad, as in All.
func EachInline(list []json.RawMessage, f func(Record) error) error {
	for i, line := range list {
		if err := f(newRecord(fmt.Sprintf("records[%d]", i), line)); err != nil {
			return err
		}
	}
	return nil
}
