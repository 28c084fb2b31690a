// Command bench is the load generator. A server is a black box to it: a child
// process, spoken to through its pipes or by HTTP/1.1 on the loopback.
//
//	bench stdio|http|gateway|sessions|cold|profile|board|cell|years|archive [flags]
//
// A suite goes round after round, and in every round each server takes its turn
// in each cell: a fresh process, a warm-up, then the measured time. What is
// printed is the median of the rounds; a ratio is the median of the ratios
// within each round, so that a slow minute of the machine hits both sides.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

var suites = map[string]func(*options, io.Writer) error{
	"stdio":    stdioSuite,
	"http":     httpSuite,
	"sessions": sessionsSuite,
	"gateway":  gatewaySuite,
	"cold":     coldSuite,
	"profile":  profileSuite,
	"board":    boardSuite,
	"cell":     cellSuite,
	"years":    yearsSuite,
	"archive":  archiveSuite,
	"claimer":  claimerSuite, // for boardSuite alone
}

// options are the flags, shared by the suites.
type options struct {
	bin      string
	rounds   int
	measure  time.Duration
	warm     time.Duration
	out      string
	only     names
	protos   names
	sizes    numbers
	inflight numbers
	conns    numbers
	sessions int
	check    bool
	suite    string
	profile  string
	tasks    int
	dir      string
	replicas numbers
	idle     numbers
	from     float64
	renews   int
	notes    int
	watch    time.Duration
	once     bool
	finished numbers
	open     int
	events   int
	imported int
	live     int

	failed int // cells that could not be measured
}

func main() {
	err := run(os.Args[1:], os.Stdout)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: bench stdio|http|gateway|sessions|cold|profile|board|cell|years|archive [flags]")

func run(args []string, w io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	suite, ok := suites[args[0]]
	if !ok {
		return fmt.Errorf("no suite %q: %w", args[0], errUsage)
	}
	o, err := parse(args[1:])
	if err != nil {
		return err
	}
	if err := suite(o, w); err != nil {
		return err
	}
	if o.failed > 0 {
		return fmt.Errorf("%d measurements failed", o.failed)
	}
	return nil
}

func parse(args []string) (*options, error) {
	o := &options{
		protos:   names{legacy, modern},
		sizes:    numbers{32, 64 << 10},
		inflight: numbers{1, 64},
		conns:    numbers{1, 16, 256},
		replicas: numbers{1, 2, 3},
		idle:     numbers{1000, 5000},
		finished: numbers{10_000, 1_000_000, 10_000_000},
	}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&o.bin, "bin", "bin", "`directory` with the servers")
	fs.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	fs.DurationVar(&o.measure, "d", time.Second, "measured time of a cell")
	fs.DurationVar(&o.warm, "warm", 300*time.Millisecond, "warm-up of a cell")
	fs.StringVar(&o.out, "out", "", "`file` to which every single measurement is appended, a JSON object a line")
	fs.Var(&o.only, "only", "`names` of the servers to run, separated by commas; the first is what the others are compared with; board: postgres, costs, load, operations, sqlite; cell: load, idle")
	fs.Var(&o.protos, "proto", "protocol `revisions`")
	only2026 := fs.Bool("modern", false, "the same as -proto "+modern)
	fs.Var(&o.sizes, "sizes", "payload sizes, `bytes`")
	fs.Var(&o.inflight, "inflight", "stdio: how many requests wait for their answers at a time")
	fs.Var(&o.conns, "c", "http: how many connections call at a time")
	fs.IntVar(&o.sessions, "n", 10000, "sessions: how many")
	fs.IntVar(&o.tasks, "tasks", 1_000_000, "board, cell: how many tasks wait")
	fs.Var(&o.replicas, "replicas", "cell: how many `bossman serve` run beside each other")
	fs.Var(&o.idle, "idle", "cell: how many workers wait for work")
	fs.Float64Var(&o.from, "from", 20, "cell: tasks a second to begin with")
	fs.IntVar(&o.notes, "notes", 10, "cell: how many notes of progress there are for a task")
	fs.IntVar(&o.renews, "renews", 60, "cell: how often a laptop shows that it is there, in the life of a task")
	fs.IntVar(&o.live, "live", 50_000, "cell: how many other tasks are held by workers")
	fs.BoolVar(&o.once, "once", false, "cell: one rate, and no climb")
	fs.DurationVar(&o.watch, "watch", time.Minute, "cell: how long idle workers are watched")
	fs.Var(&o.finished, "finished", "years, archive, cell: how many tasks are done or cancelled")
	fs.IntVar(&o.open, "open", 100_000, "years, archive: how many are not")
	fs.IntVar(&o.events, "events", 13, "archive, cell: how many events a task has that is done or cancelled")
	fs.IntVar(&o.imported, "imported", 5000, "archive: how many tasks are imported again")
	fs.StringVar(&o.dir, "dir", "", "claimer: `directory` with the files")
	fs.BoolVar(&o.check, "check", false, "stdio, http, gateway, sessions, board, years, archive: compare with what is required, and fail if it is missed")
	fs.StringVar(&o.suite, "suite", "stdio", "profile: stdio or http")
	fs.StringVar(&o.profile, "profile", "cpu.pb.gz", "profile: `file` for the CPU profile; the allocations go to file.allocs")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errUsage // the flag package has said what was wrong
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: %w", fs.Arg(0), errUsage)
	}
	if *only2026 {
		o.protos = names{modern}
	}
	for _, proto := range o.protos {
		if proto != legacy && proto != modern {
			return nil, fmt.Errorf("revision %q is neither %s nor %s: %w", proto, legacy, modern, errUsage)
		}
	}
	return o, nil
}

// names is a flag: words with commas between them.
type names []string

func (n *names) String() string { return strings.Join(*n, ",") }

func (n *names) Set(s string) error {
	*n = strings.Split(s, ",")
	return nil
}

// numbers is a flag: positive numbers with commas between them.
type numbers []int

func (n *numbers) String() string {
	words := make([]string, len(*n))
	for i, v := range *n {
		words[i] = strconv.Itoa(v)
	}
	return strings.Join(words, ",")
}

func (n *numbers) Set(s string) error {
	var parsed numbers
	for word := range strings.SplitSeq(s, ",") {
		v, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		if v < 1 {
			return fmt.Errorf("%d is not positive", v)
		}
		parsed = append(parsed, v)
	}
	*n = parsed
	return nil
}
