package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/chat"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

var chatCommand = command{
	minor: true, name: "chat", usage: "talk to a server, with TTFT and tokens per second of each answer",
	help: `aiperf chat talks to a server. After each answer one line says how fast it was.

  aiperf chat -u http://127.0.0.1:8000
  echo "Say hello" | aiperf chat -u mock: -m demo
  aiperf chat -u mock: -m demo "Hello" "And again" --save talk.jsonl

Words are messages; without any they come from the keyboard, a line each, or
from a pipe, which is one message. Ctrl-C ends the answer, a second one the
program.`,
	flags: []argv.Switch{
		{Name: "url", Short: "u", Arg: "URL", Doc: "the server (default http://localhost:8000); mock: is the built-in one"},
		{Name: "model", Short: "m", Arg: "NAME", Doc: "the model; without it, the first that the server lists"},
		{Name: "system", Arg: "TEXT", Doc: "a system prompt"},
		{Name: "system-prompt", Arg: "TEXT", Doc: "the same, as AIPerf calls it"},
		{Name: "quick", Short: "q", Arg: "TEXT", Many: true, Doc: "a message; the same as a word"},
		{Name: "no-history", Doc: "every message stands alone"},
		{Name: "history", Doc: "messages go on with what was said (the default)"},
		{Name: "api-key", Arg: "KEY", Doc: "sent as a bearer token (default: the variable OPENAI_API_KEY)"},
		{Name: "tokenizer", Arg: "NAME", Doc: "tokenizer that counts where the server does not say (default builtin)"},
		{Name: "save", Arg: "FILE", Doc: "keep the messages as a data set, a conversation a line; it is added to the file"},
	},
	run: (*app).chat,
}

func (a *app) chat(p *argv.Line) error {
	tok, err := tokenizer.Open(cmp.Or(p.Get("tokenizer"), "builtin"))
	if err != nil {
		return asUsage(err)
	}
	keep, err := openTalk(p.Get("save"))
	if err != nil {
		return err
	}
	at, stop, err := chatServer(cmp.Or(p.Get("url"), "http://localhost:8000"))
	if err != nil {
		return err
	}
	defer stop()
	key := cmp.Or(p.Get("api-key"), os.Getenv("OPENAI_API_KEY"))
	a.hide = secret.NewMasker(key)
	c := chat.New(chat.Config{
		Server: at, Model: p.Get("model"), System: cmp.Or(p.Get("system"), p.Get("system-prompt")),
		Key: key, Forgets: p.Has("no-history"), Tokenizer: tok,
	})
	if p.Get("model") == "" {
		if err := a.chooseModel(c); err != nil {
			return err
		}
	}
	messages := append(append([]string(nil), p.Values["quick"]...), p.Words...)
	terminals := false
	if f, ok := a.In.(*os.File); ok {
		terminals = term.IsTerminal(int(f.Fd()))
	}
	switch {
	case len(messages) > 0:
	case terminals:
		return a.converse(c, keep)
	default:
		b, err := io.ReadAll(io.LimitReader(a.In, mostMessage+1))
		if err != nil {
			return err
		}
		if len(b) > mostMessage {
			return diag.New(fmt.Sprintf("the message is larger than %d MiB", mostMessage>>20), "")
		}
		messages = []string{strings.TrimSpace(string(b))}
		if messages[0] == "" {
			return diag.New("chat: no message", `aiperf chat -u mock: "Hello", or type messages at a terminal`)
		}
	}
	for _, m := range messages {
		if err := a.say(c, keep, m); err != nil {
			return err
		}
	}
	return nil
}

// mostMessage bounds a message from a pipe, in bytes.
const mostMessage = 16 << 20

// chatServer is the address of the server, and how to end it where it is the built-in one.
func chatServer(s string) (at *url.URL, stop func(), err error) {
	stop = func() {}
	if mockserver.Named(s) {
		cfg, err := mockserver.ParseURL(s)
		if err != nil {
			return nil, stop, asUsage(err)
		}
		server := mockserver.New(cfg)
		if s, err = server.Start(0); err != nil {
			return nil, stop, err
		}
		stop = func() { _ = server.Close() } // with the program
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	if at, err = url.Parse(s); err != nil || at.Hostname() == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, stop, diag.New("--url: not the address of an HTTP server", "such as http://localhost:8000")
	}
	return at, stop, nil
}

// chooseModel takes the first model that the server lists.
func (a *app) chooseModel(c *chat.Chat) error {
	list, err := c.Models(a.issue)
	if err != nil {
		if e := diag.Of(err); e.Hint == "" {
			e.Hint = "-m names the model"
		}
		return err
	}
	if len(list) == 0 {
		return &diag.Error{Code: diag.Failed, Message: "the server does not list any model", Hint: "-m names one"}
	}
	c.Use(list[0])
	others := ""
	if n := len(list) - 1; n > 0 {
		others = fmt.Sprintf(", the first of %d", n+1)
	}
	a.note("the model is " + words.Clip(list[0], 100) + others)
	return nil
}

// say has one message answered. The first interrupt ends the answer, the second the program.
func (a *app) say(c *chat.Chat, keep *talk, text string) error {
	ctx := a.issue
	if a.issue.Err() != nil { // there was one already
		ctx = a.hard
	}
	shown := false
	answer, err := c.Say(ctx, text, func(piece string) { shown = true; fmt.Fprint(a.Out, piece) })
	if err != nil {
		if shown {
			fmt.Fprintln(a.Out)
		}
		if ctx.Err() != nil {
			return exit(diag.Interrupted)
		}
		return err
	}
	fmt.Fprintln(a.Out)
	fmt.Fprintln(a.Err, answer.Line())
	if err := keep.write(c); err != nil {
		return err
	}
	if a.hard.Err() != nil {
		return exit(diag.Interrupted)
	}
	return nil
}

// converse takes messages from the keyboard. An answer that fails is left out of the
// conversation, which goes on.
func (a *app) converse(c *chat.Chat, keep *talk) error {
	typed := make(chan string)
	go func() { // ends with the process: a read of a terminal cannot be called off
		defer close(typed)
		s := bufio.NewScanner(a.In)
		s.Buffer(nil, mostMessage)
		for s.Scan() {
			typed <- s.Text()
		}
	}()
	fmt.Fprintln(a.Err, "Ctrl-D ends the chat.")
	first := a.issue.Done()
	for {
		fmt.Fprint(a.Err, "> ")
		var text string
		var more bool
		select {
		case text, more = <-typed:
		case <-first:
			return exit(diag.Interrupted)
		case <-a.hard.Done():
			return exit(diag.Interrupted)
		}
		if !more {
			fmt.Fprintln(a.Err)
			return nil
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		err := a.say(c, keep, text)
		if a.issue.Err() != nil {
			first = nil // it ended an answer
		}
		var code exit
		switch {
		case errors.As(err, &code) && a.hard.Err() != nil:
			return err
		case errors.As(err, &code):
			fmt.Fprintln(a.Err)
		case err != nil:
			a.complain(diag.Of(err))
		}
	}
}

// talk is the file that a conversation is kept in, behind those that are there.
type talk struct {
	path   string
	before []byte
	id     string
}

// mostTalk bounds the file, in bytes.
const mostTalk = 64 << 20

// openTalk reads what is there; nil where nothing is to be kept.
func openTalk(path string) (*talk, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	t := &talk{path: path, id: "chat-" + strconv.FormatInt(time.Now().UnixMilli(), 36)}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return t, nil
	case err != nil:
		return nil, diag.New(fmt.Sprintf("--save: %v", err), "")
	case !info.Mode().IsRegular() || info.Size() > mostTalk:
		return nil, diag.New("--save: "+path+": not a regular file of at most 64 MiB", "another name")
	}
	if t.before, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	if len(t.before) == 0 {
		return t, nil
	}
	if found, err := format.Detect(path); err != nil || found.Format != format.LineFormat() {
		return nil, diag.New("--save: "+path+": holds no conversations that this one could be added to", "another name")
	}
	if !bytes.HasSuffix(t.before, []byte("\n")) {
		t.before = append(t.before, '\n')
	}
	return t, nil
}

// write keeps what was said so far.
func (t *talk) write(c *chat.Chat) error {
	if t == nil {
		return nil
	}
	line, err := format.Line(c.Conversation(t.id))
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(t.path)
	if err != nil {
		return err
	}
	defer f.Abort()
	for _, b := range [][]byte{t.before, line, []byte("\n")} {
		if _, err := f.Write(b); err != nil {
			return err
		}
	}
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	return f.Commit()
}
