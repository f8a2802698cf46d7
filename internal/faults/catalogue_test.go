package faults

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// proof is where a fault is proven: a test of a package, "/" and the case of it
// if it has many.
type proof struct{ pkg, test string }

// fault is one entry of the catalogue.
type fault struct {
	n      int
	what   string // what happens, and what must follow
	proofs []proof
	beyond string // what cannot be done in a test, and why
}

func catalogue() []fault {
	const (
		here      = "internal/faults"
		transport = "loadgen/transport"
		wire      = "loadgen/transport/wire"
		endpoints = "loadgen/endpoint"
		engine    = "loadgen"
		modes     = "loadgen/mode"
		run       = "runner"
		verdict   = "runner/verdict"
		resultdir = "internal/resultdir"
		command   = "cmd/aiperf"
		telemetry = "internal/telemetry"
	)
	at := func(pkg, test string) proof { return proof{pkg, test} }
	return []fault{
		// Answers.
		{n: 1, what: "429 with Retry-After: told with the header, not sent again", proofs: []proof{at(here, "TestHalfOfTheAnswersFail/429"), at(here, "TestAnswers/429"), at(transport, "TestAnswers/429")}},
		{n: 2, what: "500 or 503: the server's words, at most 1 KB, without our key", proofs: []proof{at(here, "TestHalfOfTheAnswersFail/503 with a long page"), at(here, "TestAnswers/500"), at(here, "TestAnswers/503 with a long page"), at(here, "TestAnswers/error that repeats the key")}},
		{n: 3, what: "every request fails: it ends, non-zero, with no latency and no NaN", proofs: []proof{at(here, "TestEverythingFails")}},
		{n: 4, what: "nobody listens: said at once, the URL without its password", proofs: []proof{at(here, "TestRefusedAtStart"), at(transport, "TestRefused"), at(transport, "TestDeafServer"), at(transport, "TestOneDeafAddress")}},
		{n: 5, what: "the server dies in the middle: all is counted, the run ends", proofs: []proof{at(here, "TestServerDies")}},
		{n: 6, what: "reset in a stream: kept apart from successes", proofs: []proof{at(here, "TestHalfOfTheAnswersFail/reset in a stream"), at(here, "TestAnswers/reset in a stream"), at(transport, "TestAnswers/reset within a stream")}},
		{n: 7, what: "stream without an end mark: truncated", proofs: []proof{at(here, "TestHalfOfTheAnswersFail/no end mark"), at(here, "TestAnswers/stream without an end mark")}},
		{n: 8, what: "chunked body without its last chunk: truncated", proofs: []proof{at(here, "TestHalfOfTheAnswersFail/wrong length"), at(here, "TestAnswers/no chunk of length 0"), at(here, "TestAnswers/short body")}},
		{n: 9, what: "[DONE] and no content: a failure without TTFT", proofs: []proof{at(here, "TestHalfOfTheAnswersFail/no content"), at(here, "TestAnswers/nothing but [DONE]")}},
		{n: 10, what: "malformed chunk: a parse error, the run goes on", proofs: []proof{at(here, "TestHalfOfTheAnswersFail/malformed chunk"), at(here, "TestAnswers/malformed chunk")}},
		{n: 11, what: "data: without a space, or with more than one", proofs: []proof{at(wire, "TestSSE/only one space goes"), at(here, "TestAnswers/data without a space, CRLF, BOM, comments")}},
		{n: 12, what: "line ends of every kind", proofs: []proof{at(wire, "TestSSE/line ends"), at(wire, "FuzzSSE")}},
		{n: 13, what: "byte order mark", proofs: []proof{at(wire, "TestSSE/BOM")}},
		{n: 14, what: "comments and keep-alives: no token, no TTFT", proofs: []proof{at(wire, "TestSSE/keep-alives"), at(here, "TestAnswers/data without a space, CRLF, BOM, comments")}},
		{n: 15, what: "data over several lines", proofs: []proof{at(wire, "TestSSE/joined, comment"), at(here, "TestAnswers/data over several lines")}},
		{n: 16, what: "an error inside a stream of status 200: a failure", proofs: []proof{at(here, "TestHalfOfTheAnswersFail/error in a stream"), at(here, "TestAnswers/error event"), at(here, "TestAnswers/error in a stream")}},
		{n: 17, what: "a character cut between reads or chunks", proofs: []proof{at(here, "TestAnswers/UTF-8 cut between chunks"), at(here, "TestByteByByte")}},
		{n: 18, what: "invalid UTF-8: counted, never written", proofs: []proof{at(here, "TestAnswers/invalid UTF-8"), at(here, "TestAnswers/error with invalid UTF-8")}},
		{n: 19, what: "one byte per segment: the same answer", proofs: []proof{at(here, "TestByteByByte"), at(transport, "TestTrickle")}},
		{n: 20, what: "5 MB in one line", proofs: []proof{at(here, "TestAnswers/5 MB in one line")}},
		{n: 21, what: "a line without end: an error at the limit", proofs: []proof{at(transport, "TestAnswers/endless line in a stream"), at(wire, "TestSSELimit")}},
		{n: 22, what: "1,000 events in one segment: all counted, as sharing a read", proofs: []proof{at(here, "TestVerdictOnWhatServersDo/several tokens at once"), at(here, "TestAnswers/1,000 events in one segment"), at(transport, "TestManyEventsInOneSegment")}},
		{n: 23, what: "a role before the first token: TTFT is that of the token", proofs: []proof{at(here, "TestAnswers/role first"), at(engine, "TestReadAnswer")}},
		{n: 24, what: "null content, empty choices", proofs: []proof{at(here, "TestAnswers/nulls and empty choices"), at(endpoints, "FuzzRead")}},
		{n: 25, what: "reasoning first: TTFT there, TTFO later", proofs: []proof{at(engine, "TestReadAnswer")}},
		{n: 26, what: "tool calls only: output", proofs: []proof{at(here, "TestAnswers/tool calls only"), at(endpoints, "TestRead/tool call")}},
		{n: 27, what: "usage in a last event: kept, the end does not move", proofs: []proof{at(engine, "TestReadAnswer")}},
		{n: 28, what: "usage on every event: the last counts", proofs: []proof{at(here, "TestAnswers/usage grows with every event")}},
		{n: 29, what: "no usage: our own count", proofs: []proof{at(here, "TestAnswers/usage absent")}},
		{n: 30, what: "usage that lies: both counts are kept, the verdict says so", proofs: []proof{at(here, "TestVerdictOnWhatServersDo/usage that lies"), at(here, "TestAnswers/usage that lies"), at(verdict, "TestEachCheckFlips")}},
		{n: 31, what: "usage that is not a number", proofs: []proof{at(here, "TestAnswers/usage that is not a number"), at(endpoints, "TestRead/usage that is none")}},
		{n: 32, what: "two choices in one stream", proofs: []proof{at(here, "TestAnswers/two choices")}},
		{n: 33, what: "several tokens in an event: latency by tokens, gaps by events", proofs: []proof{at("internal/metrics", "TestRecompute"), at(endpoints, "TestRead/token ids")}},
		{n: 34, what: "one token: no inter-token latency", proofs: []proof{at(here, "TestAnswers/one token")}},
		{n: 35, what: "a stream that was not asked for: an error that names its type", proofs: []proof{at(here, "TestAnswers/stream nobody asked for")}},
		{n: 36, what: "a header that does not come, or does not end", proofs: []proof{at(here, "TestHalfOfTheAnswersFail/silence"), at(here, "TestAnswers/header never sent"), at(here, "TestAnswers/header that does not end"), at(transport, "TestDeadlines/no answer")}},
		{n: 37, what: "a stream that stalls: times out, its slot is free again", proofs: []proof{at(here, "TestHalfOfTheAnswersFail/stall"), at(here, "TestAnswers/stall in a stream"), at(here, "TestTimeoutFreesTheSlot"), at(transport, "TestDeadlines/stalled stream")}},
		{n: 38, what: "a compressed stream: gzip is decoded, the rest refused", proofs: []proof{at(here, "TestWaysToTheServer/compressed though nobody asked"), at(transport, "TestAnswers/gzip stream"), at(transport, "TestAnswers/brotli")}},
		{n: 39, what: "redirect: not followed, the key goes nowhere else", proofs: []proof{at(here, "TestRedirectElsewhere")}},
		{n: 40, what: "an idle connection closed by the server: one counted reconnect; what crossed the close is sent once more and says so", proofs: []proof{at(transport, "TestIdleClosed"), at(transport, "TestSentOnceMore"), at(transport, "TestAlwaysClosing"), at(here, "TestServerClosesAfterEachAnswer")}},
		{n: 41, what: "HTTP/2: GOAWAY and reset streams", proofs: []proof{at(transport, "TestHTTP2Faults/GOAWAY"), at(transport, "TestHTTP2Faults/refused again and again")}},
		{n: 42, what: "TLS: unknown authority, expired, wrong host, plain text", proofs: []proof{at(here, "TestWaysToTheServer/unknown authority"), at(transport, "TestTLSFaults")}},
		// This machine.
		{n: 43, what: "a host that does not exist: said before anything is sent", proofs: []proof{at(transport, "TestOpenRefuses/name")}},
		{n: 44, what: "too few descriptors: said before, and a failure of ours if it happens", proofs: []proof{at(here, "TestFewDescriptors"), at(transport, "TestNoDescriptors")}},
		{n: 45, what: "too few ports: said before, and a failure of ours if it happens", proofs: []proof{at(here, "TestFewPorts"), at(here, "TestPortsServeSeveralServers"), at(transport, "TestNoPorts"), at(verdict, "TestEachCheckFlips")}},
		{n: 46, what: "a full disk: one clear error", proofs: []proof{at(command, "testdata/script/full_disk.txtar")}},
		{n: 47, what: "a result directory that is there already, or cannot be written", proofs: []proof{at(resultdir, "TestOpenRefusesOthersResults"), at(resultdir, "TestDiscardRemovesOnlyWhatTheManifestLists"), at(here, "TestResultsThatCannotBeWritten")}},
		{n: 48, what: "interrupted once: drains, keeps what it has, 130", proofs: []proof{at(here, "TestInterruptedOnce"), at(command, "TestInterrupted"), at(engine, "TestRunInterruptedOnceDrains")}},
		{n: 49, what: "interrupted twice: ends at once, files can be read", proofs: []proof{at(here, "TestInterruptedTwice"), at(command, "TestSecondInterruptStopsAtOnce"), at(engine, "TestRunInterruptedTwice")}},
		{n: 50, what: "SIGTERM and SIGHUP as SIGINT; a closed stdout is no crash", proofs: []proof{at(here, "TestInterruptedOnce"), at(here, "TestHungUpAndResumed"), at(here, "TestClosedStdout")}},
		{n: 51, what: "killed anywhere: resumed, it repeats what was unfinished alone", proofs: []proof{at(command, "TestKilledAnywhereAndResumed")}},
		{n: 52, what: "a torn end of the journal is cut", proofs: []proof{at(resultdir, "TestJournalSurvivesATornLine"), at("sinks", "TestTornJournal"), at(command, "testdata/script/resume_damaged.txtar")}},
		{n: 53, what: "two programs in one directory: the second refuses", proofs: []proof{at(resultdir, "TestOneProcessPerDirectory")}},
		{
			n: 54, what: "the wall clock is set: durations stay, the jump is noted",
			proofs: []proof{
				at(transport, "TestWallClockIsSet"), at(transport, "TestWallClockIsSetAtTheEnd"),
				at(transport, "TestStampsOverAJump"), at(telemetry, "TestWallJump"), at(verdict, "TestEachCheckFlips"),
			},
			beyond: "setting the clock of the machine that runs the tests would disturb everything on it, and time namespaces cover the monotonic clock alone: the client's idea of the wall clock is moved, which is all that a set clock is to it",
		},
		{n: 55, what: "the client is stopped: stamps hold, the verdict says so", proofs: []proof{at(here, "TestStoppedProgramIsInvalid"), at(here, "TestStampsHoldWhileStopped"), at(transport, "TestStampsHoldWhileStarved"), at(verdict, "TestEachCheckFlips")}},
		{n: 56, what: "a busy core: the verdict says so", proofs: []proof{at(here, "TestBusyCoreIsNotValid"), at(verdict, "TestEachCheckFlips")}},
		{n: 57, what: "very many requests: memory is bounded", proofs: []proof{at(here, "TestMemoryIsBounded")}},
		{n: 58, what: "no terminal, no colour, 20 columns, no stdout", proofs: []proof{at(here, "TestEverythingFails"), at(here, "TestClosedStdout")}},
		// Load.
		{n: 59, what: "a server that pauses: seen from the intended time", proofs: []proof{at(here, "TestPauseShowsFromIntended")}},
		{n: 60, what: "a cap below the rate: the wait is told", proofs: []proof{at(here, "TestVerdictOnWhatServersDo/a cap below the rate"), at(here, "TestWaitingForASlotIsTold"), at(engine, "TestCapQueues")}},
		{n: 61, what: "random arrivals: the same for the same seed, of the law asked for", proofs: []proof{at(here, "TestArrivalsAreRandomAsAsked"), at(engine, "TestSameSeedSameRequests"), at(modes, "TestScheduleIsAFunctionOfSeedAndPhase"), at(modes, "TestGapsAreDistributedAsAsked")}},
		{n: 62, what: "a constant rate: every arrival, on time", proofs: []proof{at(here, "TestArrivalsFollowTheSchedule/constant 1,000/s"), at(engine, "TestPrintedSchedulesAreSent/constant")}},
		{n: 63, what: "concurrency N: never more as the server counts", proofs: []proof{at(here, "TestConcurrencyAsTheServerCounts"), at(here, "TestBurstIsDueAtOnce"), at(engine, "TestClosedLoop")}},
	}
}

// Every fault is listed once, in order, and its proofs exist.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	sources := map[string]string{}
	for i, f := range catalogue() {
		if f.n != i+1 || f.what == "" || len(f.proofs) == 0 {
			t.Errorf("entry %d: number %d, %q, %d proofs", i+1, f.n, f.what, len(f.proofs))
		}
		for _, p := range f.proofs {
			if !exists(t, sources, p) {
				t.Errorf("%d (%s): %s has no %s", f.n, f.what, p.pkg, p.test)
			}
		}
	}
}

// exists looks for the test, and for the name of its case, in its package.
func exists(t *testing.T, sources map[string]string, p proof) bool {
	t.Helper()
	dir := filepath.Join("..", "..", filepath.FromSlash(p.pkg))
	if strings.HasPrefix(p.test, "testdata/") {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(p.test)))
		return err == nil
	}
	if sources[p.pkg] == "" {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			sources[p.pkg] += string(b)
		}
	}
	test, of, _ := strings.Cut(p.test, "/")
	found, err := regexp.MatchString(`(?m)^func `+test+`\(`, sources[p.pkg])
	return err == nil && found && strings.Contains(sources[p.pkg], `"`+of)
}
