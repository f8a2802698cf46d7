// Command bench measures what the engine costs and how true it is, beside
// net/http and beside a raw epoll client that does as little as possible. In
// goes nothing but this machine, out comes one Markdown table.
//
// The steps: a truthful server is started in a process of its own (server_linux.go);
// each scenario (scenarios_linux.go) runs each client (aiperf_linux.go,
// nethttp_linux.go, raw_linux.go) in a process of its own, one after the other,
// because CPU is accounted by process; the server's log says what really happened.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "server":
			exit(serve(os.Stdout))
		case "client":
			exit(client(os.Args[2:], os.Stdout))
		}
	}
	quick := flag.Bool("quick", false, "short measurements: less than 20 s in all")
	only := flag.String("only", "", "run the scenarios whose name matches this regular expression")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(bench(ctx, *quick, *only))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// bench runs the scenarios and prints their rows as they come.
func bench(ctx context.Context, quick bool, only string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, quick)
	if err != nil {
		return err
	}
	defer b.close()
	fmt.Printf("%s, Go %s, %s/%s, %d cores, load average %s\n\n", time.Now().Format(time.DateOnly),
		runtime.Version()[2:], runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), loadAverage())
	fmt.Println("| what | aiperf | net/http | raw epoll | aiperf ÷ net/http | aim |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, s := range scenarios() {
		if !match.MatchString(s.name) || ctx.Err() != nil {
			continue
		}
		rows, err := s.run(b)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for _, r := range rows {
			fmt.Println(r)
		}
	}
	fmt.Printf("\nload average at the end %s\n", loadAverage())
	return ctx.Err()
}
