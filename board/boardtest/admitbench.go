package boardtest

import (
	"slices"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// BenchmarkAdmit measures, in turns, a call that is recorded without a look at its claim, one that
// is admitted while the lease suffices, and one whose lease is extended.
func BenchmarkAdmit(b *testing.B, s board.Store) {
	ctx := b.Context()
	bare := s.(unlocked)
	brd := board.New(s, nil)
	if err := brd.SetProject(ctx, board.Project{Slug: project}); err != nil {
		b.Fatal(err)
	}
	if _, _, err := brd.Create(ctx, ada, board.NewTask{Project: project, Title: "a"}, ""); err != nil {
		b.Fatal(err)
	}
	h, err := brd.Next(ctx, board.Actor{Principal: "local", Owner: "x"}, board.Wish{Projects: []string{project}})
	if err != nil {
		b.Fatal(err)
	}
	admit := func(limit time.Duration) func() error {
		n := newCall(h.Claim.Handle, lasting(limit))
		a := board.Admission{NewCall: n, Worker: h.Claim.Worker, ArgsHash: n.Digest, Slack: 5 * time.Second}
		return func() error {
			_, ok, err := s.Admit(ctx, a)
			if !ok && err == nil {
				b.Fatal("not admitted")
			}
			return err
		}
	}
	n := newCall(h.Claim.Handle, lasting(time.Second))
	ways := []struct {
		name string
		do   func() error
		took []time.Duration
	}{
		{name: "bare", do: func() error {
			_, err := bare.InsertCall(ctx, board.Admission{NewCall: n, ArgsHash: n.Digest, Worker: h.Claim.Worker}, h.Claim)
			return err
		}},
		{name: "admitted", do: admit(time.Second)},
		{name: "extended", do: admit(time.Hour)},
	}
	for b.Loop() {
		for i := range ways {
			began := time.Now()
			if err := ways[i].do(); err != nil {
				b.Fatal(err)
			}
			ways[i].took = append(ways[i].took, time.Since(began))
		}
	}
	for _, w := range ways {
		slices.Sort(w.took)
		b.ReportMetric(float64(w.took[len(w.took)/2].Microseconds()), w.name+"-p50-µs")
		b.ReportMetric(float64(w.took[len(w.took)*99/100].Microseconds()), w.name+"-p99-µs")
	}
}
