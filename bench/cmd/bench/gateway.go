package main

import (
	"bufio"
	"fmt"
	"io"
	"syscall"
	"time"
)

// hops are the servers of the gateway suite: the upstream itself, the least that can stand before it, and our gateway.
// The CPU time is that of the hop alone, except for direct.
func hops(only []string) ([]server, error) {
	return pick([]server{
		{name: "direct", bin: "srv-bossman"},
		{name: "copy", bin: "srv-hop", args: []string{"-variant=copy"}},
		{name: ours, bin: "srv-hop", args: []string{"-variant=gateway"}, tool: "up__echo"},
	}, only)
}

// What our gateway may cost: µs of CPU time and of latency on a pipe, calls a second for eight callers, CPU time by
// that of httputil.ReverseProxy, and KiB of memory for what is known of 500 tools, while nothing runs behind it.
const (
	mostHop       = 70
	mostAdded     = 100
	leastPiped    = 20_000
	mostProxied   = 1.2
	mostAddedHTTP = 300
	mostAsleep    = 8 << 10
)

// gatewaySuite compares our gateway with what can stand in its place, over pipes and over HTTP.
func gatewaySuite(o *options, w io.Writer) error {
	servers, err := hops(o.only)
	if err != nil {
		return err
	}
	p := printer{w: w}
	missed := false
	check := func(what string, figure, limit float64, least bool) {
		word, sign := "ok", "≤"
		if least {
			sign = "≥"
		}
		if figure == 0 || least && figure < limit || !least && figure > limit {
			word, missed = "MISSED", true
		}
		p.printf("%-6s  %s = %.2f (required %s %g)\n", word, what, figure, sign, limit)
	}
	for _, proto := range o.protos {
		for _, mode := range []string{"stdio", "http"} {
			cells := grid(proto, o.sizes[:1], []int{1, 8})
			rs, err := o.interleave("gateway "+mode, cells, withState(servers, mode, proto), func(s server, c cell) (sample, error) {
				p, err := s.start(o, mode)
				if err != nil {
					return sample{}, err
				}
				defer p.stop()
				if mode == "stdio" {
					return stdioCell(s, p, c, o, nil)
				}
				return httpCell(s, p, c, o, nil)
			})
			if err != nil {
				return err
			}
			if err := rs.print(w, "gateway, "+mode+" to "+mode+" "+proto+", tools/call echo", servers[0].name); err != nil {
				return err
			}
			p.printf("\n")
			one, eight := cells[0], cells[1]
			p50 := func(s sample) float64 { return s.P50 }
			added, hop := rs.figureOf(one, ours, p50)-rs.figureOf(one, "direct", p50), rs.figureOf(one, ours, cpu)
			what := mode + " " + proto + ", one caller: "
			if mode == "stdio" {
				check(what+"added p50, µs", added, mostAdded, false)
				check(what+"CPU of the hop, µs", hop, mostHop, false)
				check(mode+" "+proto+", eight callers: calls/s", rs.figureOf(eight, ours, rate), leastPiped, true)
				continue
			}
			check(what+"added p50, µs", added, mostAddedHTTP, false)
			ratio, _ := rs.ratio(one, ours, "copy", cpu)
			check(what+"CPU of the hop, by httputil.ReverseProxy's", ratio, mostProxied, false)
		}
	}
	with, err := restingMemory(o, server{name: "asleep", bin: "srv-hop", args: []string{"-variant=asleep"}})
	if err != nil {
		return err
	}
	without, err := restingMemory(o, servers[0])
	if err != nil {
		return err
	}
	p.printf("\n%.1f MiB resident with 500 tools of 20 servers that do not run, %.1f MiB a server with one tool of its own.\n", with/1024, without/1024)
	check("KiB for 500 tools", with-without, mostAsleep, false)
	if p.err == nil && missed && o.check {
		return errMissed
	}
	return p.err
}

// withState returns servers set up for a revision over HTTP.
func withState(servers []server, mode, proto string) []server {
	if mode != "http" {
		return servers
	}
	var list []server
	for _, s := range servers {
		s.args = append([]string{fmt.Sprintf("-stateless=%t", proto == modern)}, s.args...)
		list = append(list, s)
	}
	return list
}

// figureOf is figure, zero if it was not measured.
func (rs results) figureOf(c cell, name string, value func(sample) float64) float64 {
	v, _ := rs.figure(c, name, value)
	return v
}

// restingMemory returns the resident memory of a server that has listed its tools, and waits.
func restingMemory(o *options, s server) (float64, error) {
	p, err := s.start(o, "stdio")
	if err != nil {
		return 0, err
	}
	defer p.stop()
	l := &line{p: p, r: bufio.NewReaderSize(p.out, 256<<10)}
	if err := l.handshake(); err != nil {
		return 0, err
	}
	if _, err := l.call([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}` + "\n")); err != nil {
		return 0, err
	}
	if err := p.signal(syscall.SIGUSR1); err != nil {
		return 0, err
	}
	time.Sleep(700 * time.Millisecond)
	return p.rss()
}
