package hostile

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A hostile is a place that a case builds.
type hostile struct {
	name  string
	build func(p *place)
}

// TestHostile runs the commands and the tools in every place.
func TestHostile(t *testing.T) {
	places := slices.Concat(repositories, pointers, gitFiles(), boards(), boardFiles(), projects, names, claims, owners)
	seen := map[string]bool{}
	for i, h := range places {
		if seen[h.name] {
			t.Fatalf("there are two places named %s", h.name)
		}
		seen[h.name] = true
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.number = i
			h.build(p)
			p.watch()
			list := lines(p, everything)
			if !everything && i%2 == 0 && p.more == nil {
				list = nil // the tools do the same
			}
			for _, argv := range list {
				begun := time.Now()
				out, faults := p.run(argv...)
				for _, fault := range faults {
					t.Errorf("bossman %s: %s\n%s", strings.Join(argv, " "), fault, clip(out))
				}
				if strings.Contains(strings.Join(faults, " "), "did not end") {
					return // the others would wait for it, too
				}
				if took := time.Since(begun); took > time.Second {
					t.Logf("bossman %s took %v", strings.Join(argv, " "), took)
				}
			}
			if everything || i%2 == 0 || p.more == nil { // its neighbours are of its kind
				for _, fault := range p.tools(t) {
					t.Errorf("bossman mcp: %s", fault)
				}
			}
			if p.control == nil {
				return
			}
			// The canary works: this is what a user without care would have run.
			cmd := p.command(p.dir, p.control...)
			if out, _ := cmd.CombinedOutput(); !strings.Contains(p.touched(), "the canary was run") {
				t.Errorf("%s did not run the canary, so the case shows nothing\n%s", strings.Join(p.control, " "), out)
			}
		})
	}
}

func clip(s string) string { return s[:min(len(s), 2000)] }
