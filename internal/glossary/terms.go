package glossary

import (
	"fmt"

	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// terms are sorted by word.
var terms = []term{
	{
		"as observed",
		[]string{"by value"},
		"A single run has no interval over trials, so its gates are decided by the value itself; the true error rate, for example, may be higher.",
		[]string{"num-profile-runs"},
	},
	{
		"asked",
		nil,
		"In a plan: which questions with known answers are asked, so that accuracy is measured beside speed.",
		nil,
	},
	{"axis", []string{"axes"}, "A setting with several values, such as concurrency 1, 4, 16. Axes either vary the system (endpoint, model) or the work (lengths, load).", []string{"sweep-type"}},
	{
		"backlog", nil, "Requests that wait because they arrive faster than the server answers; latencies then grow for as long as the run lasts.",
		[]string{"request-rate"},
	},
	{
		"best",
		[]string{"leads", "without limits"},
		"The cell that is shown to be ahead in an objective, such as throughput, of all cells with the same work; where there are limits or gates, of those that keep them. A cell that leads has the best value but is not shown to be best. In the tables, without limits means: of all cells.",
		[]string{"goodput"},
	},
	{
		"better",
		[]string{"✓"},
		"An outcome of a comparison: the interval of the change excludes 0, and the change is an improvement beyond the margin.",
		[]string{"num-profile-runs"},
	},
	{
		"block",
		[]string{"blocks", "paired", "not paired", "pairs", "paired trials", "paired trial"},
		"All cells of one trial. They send the same lengths at the same times, so that cells are compared in pairs: trial 1 with trial 1, and so on. Trials of two directories are not paired.",
		[]string{"num-profile-runs"},
	},
	{
		"bracket",
		[]string{"holds", "fails", "both ends confirmed by a second run", "confirmed by a second run", "one end measured only once", "not confirmed yet"},
		"What a search finds: the highest load that keeps the limits (holds) and the lowest one above it that does not (fails). The limit of the server lies between the two. Confirmed by a second run: two runs of either load said the same. Not confirmed yet: runs of other loads differed, so that two are too few, or every run of it came after a smaller load, or after a larger one.",
		[]string{"gate"},
	},
	{
		"bundle",
		[]string{"sealed", "signature", "redacted"},
		"A result in one file that others can verify and rerun: tables, records, receipts, verdict and experiment, with host names, pods, GPUs and paths redacted, described in one text that can be signed.",
		nil,
	},
	{"candidate", []string{"baseline"}, "The system that is compared with the baseline.", nil},
	{
		"cell",
		[]string{"cells"},
		"One combination of values on the axes, such as concurrency 4 at isl 512.",
		[]string{"sweep-type"},
	},
	{
		"certified",
		[]string{"p50", "p90", "p95", "p99", "p99 uncertain", "of few requests", "certain", "uncertain", "indicative", "percentile", "too few requests", "too few", "hollow"},
		"A percentile with enough requests for a 95 % interval; with fewer it is uncertain, and a line of the screen names it. As a rule " +
			sweep.Takes() + "; more where consecutive requests are similar.",
		[]string{"num-requests"},
	},
	{
		"check",
		[]string{"checks", "finding", "findings"},
		"One question about a measurement, such as: was the client late? Every run is asked all of them. What a check finds lowers the verdict or puts single numbers in doubt; aiperf checks DIR lists it.",
		nil,
	},
	{
		"client",
		[]string{"this client"},
		"This program, as the sender of the requests. The line Client of a screen says how much of the machine's CPU it used, and how late it sent: a client that is too busy makes a server look slow.",
		[]string{"workers"},
	},
	{
		"closed loop", nil, "A load with a fixed number of conversations: the next request is sent when an answer ends.",
		[]string{"concurrency"},
	},
	{
		"coalesced",
		[]string{"together"},
		"Several tokens arrived in one read, so the times between them are known only as a range.", nil,
	},
	{
		"complete",
		[]string{"partial", "not complete", "stopped"},
		"A plan is complete when every run was made, and partial when it was stopped before its end; aiperf run --resume measures the rest.", nil,
	},
	{
		"confidence interval",
		[]string{"interval", "95 % interval", "ci", "±", "[ ]", "± wide", "wide", "too few trials", "trials are too few"},
		fmt.Sprintf("The range that holds the true value in 95 of 100 repeated experiments, computed over trials: mean ± half of it, or [lower end, upper end]. "+
			"In a comparison the %.0f %% hold for all primary metrics together, so the interval of each one is wider. ± wide: its ends are more than a factor of ten apart, for want of trials.", 100*decide.CompareLevel),
		[]string{"confidence-level", "num-profile-runs"},
	},
	{
		"contention",
		[]string{"coherency", "universal scalability law", "law"},
		"Parameters of the Universal Scalability Law, which a search fits to its loads: contention is the share of the work that waits in line, coherency is what each additional user costs all the others.", nil,
	},
	{
		"conversation",
		[]string{"conversations", "session", "sessions", "turn", "turns"},
		"Requests of one user that follow each other, each with the answers before it in its prompt. Each request is a turn; a single request is a conversation of one turn.",
		[]string{"conversation-num", "conversation-turn-mean"},
	},
	{
		"curve",
		[]string{"fitted curve"},
		"The throughput, the latency and the share of good requests of a search against the load, with a smooth line through the points. The line is only drawn: it decides nothing.",
		nil,
	},
	{
		"cut off",
		[]string{"censored", "cut", "never sent"},
		"A request that was still open when its phase ended. It lasted at least until then. One that was never sent was due before the end, but no slot or connection was free.",
		[]string{"benchmark-grace-period"},
	},
	{"degraded", nil, "A verdict: some numbers are wrong by more than 2 %, or the server did something else than was asked. Marks (~ and !), or a line below the table, say which; all other numbers hold.", nil},
	{
		"design", nil,
		"How the trials of a plan get their work: in blocks, so that all cells of a trial get the same lengths and arrival times; fixed, the same in every trial; or independent, new for each run.",
		[]string{"vary-seed-per-trial"},
	},
	{
		"drain", nil, "The end of a run: no more requests are sent, and the client waits for the last answers. The steady window ends before it.",
		[]string{"benchmark-grace-period"},
	},
	{
		"dominated",
		[]string{"front", "pareto", "*"},
		"A cell is dominated when another one is certainly better in both throughput and latency. Cells that no other one beats are the Pareto front, marked * where that is certain; the legend counts the rows for which it is not.", nil,
	},
	{
		"doubtful",
		[]string{"doubt", "in doubt", "~"},
		"Marked ~. A number that may be wrong by more than 2 %, as aiperf checks DIR explains. It is shown, but not ranked; a comparison or a gate uses it only where the doubt cannot change the outcome.", nil,
	},
	{
		"early stopping",
		[]string{"early-stopping", "early_stopping"},
		"A rule of MLPerf Inference for short runs: a limit is met when so few requests exceed it that a server of whose requests exactly the required share (99 %) keep it would do as well in fewer than 1 of 100 runs. At 99 % it takes 459 requests with none over the limit, 662 with one and 838 with two. It takes requests to be independent: where slow ones come in clusters, a server at the limit passes more often.",
		[]string{"rules"},
	},
	{
		"ETA",
		nil,
		"When the plan will be finished, by how long its runs took until now.",
		nil,
	},
	{
		"goal",
		[]string{"goals"},
		"In a plan whose settings are chosen run by run: the metrics that are to become as large or as small as possible, in this order.",
		nil,
	},
	{
		"half", nil,
		"In the preview of a search: what it takes to make the bracket half as wide, so that the limit is known twice as precisely.",
		[]string{"search-recipe"},
	},
	{
		"interpolation",
		[]string{"by interpolation"},
		"A straight line between the two loads beside the limit says where the share of good requests crosses the share that is asked for. It is a guess, not a measurement.",
		nil,
	},
	{
		"lock", nil,
		"The digest of a plan, which names its cells, trials and seeds: an experiment that would send something else has another. --resume goes on only with the same plan, and --done finds results of it.",
		nil,
	},
	{
		"of the requests that succeeded",
		[]string{"†", "without the requests that failed", "that succeeded", "that failed"},
		"Marked †. A figure that leaves failed requests out: a server that answers all of them may look slower. It is shown, but not ranked, and compared only where the failed requests cannot change the outcome.", nil,
	},
	{
		"likely",
		[]string{"shown", "not known", "certainty"},
		"How sure aiperf diagnose is: shown, the server's and the client's counts say so; likely, it fits and nothing that was measured contradicts it; not known, the figures that would decide it are missing or disagree.",
		nil,
	},
	{
		"known between two ends",
		[]string{"≤"},
		"Stands before a percentile that is only known to lie within a range, because tokens arrived together. The upper end is shown; the finding above the table has both.", nil,
	},
	{"drift", nil, "A slow change of the server or the machine over the trials of an experiment.", nil},
	{
		"equivalent",
		[]string{"same", "equal within", "="},
		fmt.Sprintf("An outcome of a comparison: a change beyond the margin is ruled out in both directions, since its %.0f %% interval lies within the margin. \"equal within 1.8 %%\" says the end of that interval that is farther from 0.", 100*decide.EqualLevel), nil,
	},
	{"failed", nil, "A verdict: nothing was measured, because no request was sent or every one failed.", nil},
	{
		"failed runs",
		[]string{"usable runs", "unusable", "unusable run", "no result", "interrupted runs", "interrupted", "not run", "no average", "in no average"},
		"Runs without figures, because they were interrupted, lost the server or had no successful request. The others are the usable runs: only they count in averages and comparisons, which leave out INVALID runs as well.",
		[]string{"allow-invalid"},
	},
	{
		"failures as ∞",
		[]string{"error-adjusted", "adjusted", "∞"},
		"A latency of all requests in which one that failed never ended (∞), so that a server which answers quickly and often fails does not look fast. From schedule, a request that was cut off or never sent counts so, too.", nil,
	},
	{"flip", []string{"flips"}, "The step between runs that switches a server from one state to another, by an HTTP call or a command.", nil},
	{
		"flow balance", nil, "In a steady stretch as many requests end as begin. Where they do not, a queue grows or shrinks, and the rate is not one that lasts.", nil,
	},
	{
		"from sending",
		[]string{"timed from sending"},
		"A latency counted from the time at which the request was sent. Where sending was late, it leaves out the time before; the latency from schedule has it.",
		nil,
	},
	{
		"from schedule",
		[]string{"intended", "schedule", "latencies from the schedule", "TTFT from schedule", "latency from schedule"},
		"A latency counted from the time at which the request was due, so that late sending cannot hide a wait.", nil,
	},
	{
		"gate",
		[]string{"gates", "held", "missed", "passed"},
		"A condition on the figures of every cell, such as error_rate == 0. A missed gate (✗) ends the program with 3. What every single request must keep is a limit.",
		[]string{"gate", "gates-undecided"},
	},
	{
		"good",
		[]string{"slo", "slos", "limit", "limits", "goodput %", "good %", "misses limits", "misses", "meets", "keeps the limits"},
		"A request that succeeds and meets every limit of slos (--goodput). A cell keeps the limits when 99 % of its requests are good; in a search, and so in quick, 95 % are enough unless the search sets another share. A condition on a figure of the cell is a gate.",
		[]string{"goodput"},
	},
	{
		"http_500",
		[]string{"http error", "http_400", "http_404", "http_429", "http_503"},
		"A request that the server answered with this HTTP status instead of a result. From 500 on the server failed; from 400 to 499 it refused the request, with 429 because there were too many.",
		[]string{"request-rate"},
	},
	{
		"how a search ends",
		[]string{
			"too_noisy", "holds_at_high", "fails_at_low", "budget_spent", "not_monotone", "client_limit", "server_died",
			"knee_throughput_only", "knee_none", "knee_boundary", "knee_disagreement",
		},
		"In its JSON: bracket, both ends were found; too_noisy, runs of this length cannot decide what lies between; holds_at_high and fails_at_low, the answer is beyond the range; budget_spent; not_monotone, more load was not always worse; client_limit, this machine cannot send more; server_died; stopped; and for a knee where it is, in what, or that there is none.",
		[]string{"set"},
	},
	{
		"ignore_eos",
		[]string{"min_tokens"},
		"Fields of a request that make servers such as vLLM and SGLang go on beyond the token that ends an answer, until it has the requested length.",
		[]string{"extra-inputs"},
	},
	{
		"in flight",
		[]string{"open requests"},
		"Requests that were sent and are not answered yet. On average they are rate × latency.",
		[]string{"concurrency"},
	},
	{
		"independent",
		[]string{"consecutive", "similar", "worth"},
		"Consecutive requests are similar, because they meet the server in the same state. 100 of them may say only as much as 30 independent ones, and intervals count those.",
		[]string{"num-requests"},
	},
	{
		"invalid",
		[]string{"!", "not usable", "left out"},
		"A verdict: this program may have made the numbers of a run wrong by more than 10 %. As a mark (!) it is about one number. Estimates, comparisons and gates leave such a number out, as if it had not been measured.",
		[]string{"allow-invalid"},
	},
	{
		"judged",
		[]string{"not judged", "could not be judged"},
		"Decided: a gate, a limit or an answer passed or did not. It cannot be judged where no figure is usable, or where an answer was cut off, is empty or has an unknown form.",
		[]string{"gate"},
	},
	{
		"enough",
		[]string{"choose", "is enough"},
		"The lowest load that gives nearly as much throughput as any other: each of the others gives at most 5 % more, and at most 10 % at the end of its interval. More load than that mostly makes requests wait.",
		[]string{"concurrency", "request-rate"},
	},
	{
		"kinds of findings",
		[]string{"harm", "workload", "cause", "precision"},
		"harm: this program made the number wrong. workload: the server or the load did something else than was asked. cause: why it happened. precision: too little was measured. Only harm makes a run INVALID.", nil,
	},
	{"knee", nil, "The load beyond which more load adds latency and hardly any throughput.", []string{"concurrency", "request-rate"}},
	{
		"lag",
		[]string{"late", "late sending"},
		"How much later a request was sent than planned; the live view has its p99 over the last seconds.",
		[]string{"request-rate"},
	},
	{
		"Little's law",
		[]string{"littles_law"},
		"In a steady stretch, requests in flight = requests per second × latency. It ties the figures of a table together: two of them give the third.",
		[]string{"concurrency", "request-rate"},
	},
	{
		"load",
		[]string{"loads"},
		"How much is asked of the server: so many requests at a time (concurrency), so many a second (rate), or so many users.",
		[]string{"concurrency", "request-rate", "num-users"},
	},
	{"margin", nil, "The smallest change that counts in a comparison: 5 %, and 15 % from p95 on, unless compare sets another.", nil},
	{
		"mock:",
		[]string{"mock", "built-in server"},
		"The address of the built-in server: mock:?ttft=40ms&itl=5ms sets its times, and aiperf mock-server serves it to other programs.",
		[]string{"url"},
	},
	{
		"MSER-5",
		[]string{"MSER"},
		"A rule for the length of a warm-up (marginal standard error, over means of five answers): the start to leave out is the one that makes the mean of the rest most certain.", nil,
	},
	{
		"no value",
		[]string{"–"},
		"A missing figure: it was not measured, or too few requests succeeded.", nil,
	},
	{
		"not worse",
		[]string{"harmless", "○", "at most"},
		fmt.Sprintf("An outcome of a comparison: harm beyond the margin is ruled out (%.0f %%, one-sided); whether the candidate is better is open.", 100*decide.CompareLevel),
		[]string{"num-profile-runs"},
	},
	{
		"open loop", nil, "A load that sends requests at planned times, whether or not earlier ones were answered.",
		[]string{"request-rate", "arrival-pattern"},
	},
	{
		"other clients",
		[]string{"other clients use the server"},
		"The server's own metrics count more requests than this run sent, which somebody else must have sent. The server's figures are then about a different load.",
		nil,
	},
	{
		"paused",
		[]string{"stood still", "the client was paused", "the machine stood still"},
		"The client did nothing for a while, because its program was stopped, its machine slept, or other programs had every CPU. What arrived meanwhile was read late.",
		nil,
	},
	{
		"phase",
		[]string{"phases"},
		"A part of a run with its own load: warmup, then profiling, which is the part that is measured.",
		[]string{"warmup-duration", "benchmark-duration"},
	},
	{
		"points",
		[]string{"percentage points"},
		"The change of a share, such as errors, in hundredths of all requests: from 1 % to 3 % is +2 points.", nil,
	},
	{
		"power",
		[]string{"80 % power", "smallest change", "smallest change this test finds"},
		"How often a comparison finds a real change. The smallest change this test finds is one that it finds four times in five; finding a smaller one takes luck.",
		[]string{"num-profile-runs"},
	},
	{
		"primary metric",
		[]string{"primary", "primary metrics"},
		"A metric that decides a comparison: by default throughput (of a closed loop), TTFT, ITL and the share of good requests. All others are only shown; --metric names others.", nil,
	},
	{
		"probe",
		[]string{"probes"},
		"A run that a search makes at one load. What it shows decides which load comes next.",
		nil,
	},
	{
		"reproduced",
		[]string{"not reproduced", "rerun"},
		"What a rerun of a sealed plan says: reproduced when every deciding figure equals the sealed one within its margin, not reproduced when one lies beyond its margin for certain.",
		nil,
	},
	{
		"round",
		[]string{"rounds", "rounds of them"},
		"In a closed loop every user sends a request, waits for its answer and sends the next: a round is one request of each user. Requests of one round wait together, so that their times are alike, and say less than independent ones.",
		nil,
	},
	{
		"rules",
		[]string{"rule", "met", "not met", "cannot be checked"},
		"Rules of others that a result is checked against, as data: how long and how often to measure, under which load, within which limits and with which audits (--rules mlperf-server:llama2-70b, or a file of your own). Each is met, not met, or cannot be checked here.",
		[]string{"rules"},
	},
	{
		"scheduling delay",
		[]string{"run delay", "run_delay"},
		"Time for which this program was ready to run and had no CPU, because something else used it.", nil,
	},
	{
		"rate_limited",
		[]string{"retry-after", "429"},
		"A request that the server refused with the status 429, too many requests. Retry-After is how long the server asks to wait before another try; no request is sent twice.",
		[]string{"request-rate"},
	},
	{
		"receipt.json",
		[]string{"receipt", "receipts"},
		"A file of every result: of each run what was asked for and what was delivered, such as lengths, arrivals and numbers of requests, so that anyone can check that two results measured the same work.",
		nil,
	},
	{
		"replay fidelity",
		[]string{"on time", "dependencies kept", "prefix hits"},
		"How close a run came to the recorded load it replayed: the smallest of the shares of rows that were sent, on time, in order and of equal lengths, minus the prefix overlap that was missed.",
		[]string{"fixed-schedule"},
	},
	{
		"search",
		[]string{"searches"},
		"Runs at one load after another that find the largest load within limits: each run decides which load comes next. aiperf quick makes one, and so does a block search in an experiment.",
		[]string{"search-recipe"},
	},
	{"sentinel", nil, "The first cell, measured again at the start, in the middle and at the end, to show whether the server changed.", nil},
	{
		"share",
		[]string{"shares", "part of the whole"},
		"A part of all requests, such as those that failed or were good: 0.02 in files and flags, 2 % on screens. Changes of a share are in points: from 2 % to 5 % are 3 points more.",
		[]string{"goodput"},
	},
	{
		"slots",
		[]string{"slot"},
		"Places for requests: a load has as many as its concurrency, a server as many as it works on at once. A request without one waits.",
		[]string{"concurrency"},
	},
	{
		"so far",
		[]string{"not certain yet", "leads so far", "best so far", "done so far", "misses them so far"},
		"Said of an answer that more trials may change: it has the best value of what was measured, and its interval still overlaps with another one or with a limit.",
		[]string{"num-profile-runs"},
	},
	{
		"steady",
		[]string{"steady window", "steady state", "window", "whole run"},
		"The part of a run at full load, without the ramp at its start and the drain at its end. Results are taken from it where every cell has one.",
		[]string{"concurrency", "concurrency-ramp-duration"},
	},
	{
		"stream_options", nil, "A field of a chat request; with include_usage in it the server sends its token counts after the last piece of an answer.",
		[]string{"use-server-token-count"},
	},
	{
		"tail",
		[]string{"tails", "long tail"},
		"The slowest requests of a run, which p95 and p99 describe. The further out a percentile lies, the more requests it takes to be certain.",
		[]string{"request-count"},
	},
	{
		"taint",
		[]string{"taints", "tainted"},
		"The column that says which check makes a number doubtful or invalid.",
		nil,
	},
	{
		"tie", nil, "Several cells are ahead, and none of them is certainly better than the others: more trials may decide, or the difference is too small.",
		[]string{"num-profile-runs"},
	},
	{
		"tok/s per user",
		[]string{"per user", "out tok/s/user", "interactivity"},
		"Output tokens per second that one user sees while an answer comes: 1 ÷ ITL. Not the throughput of the server, and without the wait for the first token.",
		[]string{"concurrency"},
	},
	{
		"trial",
		[]string{"trials"},
		"One repetition of a cell. Trials show how much a number varies.",
		[]string{"num-profile-runs", "vary-seed-per-trial"},
	},
	{
		"true rate",
		nil,
		"What the share of failures may be in truth, where none was seen: with so many requests a larger one would have shown in 95 of 100 experiments.",
		nil,
	},
	{
		"truncated", nil, "An answer that broke off: the server or the network closed the connection in the middle. The request counts as failed.", nil,
	},
	{
		"turnaround", nil, "In a closed loop: the time from the end of an answer to the next request. When it is long, throughput reads lower than the server could give.",
		[]string{"concurrency"},
	},
	{
		"undecided",
		[]string{"?", "not decided yet", "no decision", "cannot be decided", "cannot be judged", "open", "undecidable"},
		"The interval allows both answers, as in a comparison (exit code 4) or at a gate, marked ?. More trials or more requests make it narrower, unless the number itself is in doubt: then it cannot be decided.",
		[]string{"num-profile-runs", "gates-undecided"},
	},
	{
		"user",
		[]string{"users"},
		"Somebody who sends a request, waits for the answer and sends the next one. As many users as the concurrency; with user_centric each has a pace of its own.",
		[]string{"concurrency", "num-users"},
	},
	{"valid", []string{"verdict", "all else holds"}, "A verdict: the reported numbers are the server's.", nil},
	{
		"worse",
		[]string{"✗", "slower"},
		"An outcome of a comparison (exit code 3): the interval of the change excludes 0, and the change is a loss beyond the margin.",
		[]string{"num-profile-runs"},
	},
}
