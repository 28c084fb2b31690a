package mcp

import "testing"

func TestParseRevision(t *testing.T) {
	last := Revision(0)
	for _, r := range Revisions() {
		if r <= last {
			t.Errorf("Revisions(): %v comes after %v", r, last)
		}
		last = r
		if got, ok := ParseRevision(r.String()); got != r || !ok {
			t.Errorf("ParseRevision(%q) = %v, %v, want itself", r.String(), got, ok)
		}
	}
	if last != LatestRevision {
		t.Errorf("Revisions() ends with %v, want %v", last, LatestRevision)
	}
	for _, name := range []string{"", "2026-07-29", "2025-11-25 ", "DRAFT"} {
		if got, ok := ParseRevision(name); ok {
			t.Errorf("ParseRevision(%q) = %v, want none", name, got)
		}
	}
}

func TestRevision_facts(t *testing.T) {
	for _, r := range Revisions() {
		legacy := r <= newestLegacy
		if r.Stateless() == legacy {
			t.Errorf("%v.Stateless() = %v", r, r.Stateless())
		}
		if r.batches() != (r == R20250326) {
			t.Errorf("%v.Batches() = %v", r, r.batches())
		}
		if r.resumable() != (legacy && r > R20241105) {
			t.Errorf("%v.Resumable() = %v", r, r.resumable())
		}
		if r.versionHeader() != (r >= R20250618) {
			t.Errorf("%v.VersionHeader() = %v", r, r.versionHeader())
		}
		if r.routingHeader() == legacy {
			t.Errorf("%v.RoutingHeader() = %v", r, r.routingHeader())
		}
		if want := map[bool]int{true: -32002, false: -32602}[legacy]; r.notFound() != want {
			t.Errorf("%v.notFound() = %v, want %v", r, r.notFound(), want)
		}
		since := []struct {
			fact  string
			got   bool
			first Revision
		}{
			{"argsAsToolError", r.argsAsToolError(), R20251125},
			{"errorWithoutID", r.errorWithoutID(), R20251125},
			{"progressMessage", r.progressMessage(), R20250326},
			{"completionsCapability", r.completionsCapability(), R20250326},
			{"audio", r.audio(), R20250326},
			{"links", r.links(), R20250618},
			{"structured", r.structured(), R20250618},
			{"anyStructured", r.anyStructured(), R20260728},
			{"richForms", r.richForms(), R20251125},
			{"richSampling", r.richSampling(), R20251125},
		}
		for _, f := range since {
			if want := r >= f.first; f.got != want {
				t.Errorf("%v.%s() = %v, want %v", r, f.fact, f.got, want)
			}
		}
	}
	if got := Revision(0).String(); got != "" {
		t.Errorf("Revision(0).String() = %q, want empty", got)
	}
}
