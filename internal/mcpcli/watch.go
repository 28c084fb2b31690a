package mcpcli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

func (c *cli) watchCommand() *cobra.Command {
	return c.subcommand(&cobra.Command{
		Use: "watch [SERVER] [URI…] [-- COMMAND…]", Short: "Watch a server for changes",
		Long: `Watch prints changes of the server's lists of tools, prompts and resources, updates of the
named resources, and the server's log messages, until it is interrupted or --timeout is
over. With --json each change is one object per line.`,
		Example: `  bossman client watch https://example.com/mcp
  bossman client watch https://example.com/mcp docs://readme --json`,
	}, func(ctx context.Context, s *session, args []string) error {
		w := &watcher{session: s, lists: map[mcp.EventKind]map[string]string{}, watched: map[string]bool{}}
		return w.run(ctx, args)
	})
}

// A watcher prints changes.
type watcher struct {
	*session
	// lists has, for each list, the JSON of its entries by name.
	lists map[mcp.EventKind]map[string]string
	// watched has the resources whose watching was announced.
	watched map[string]bool
}

type changeJSON struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`   // tool, prompt, resource
	Change string    `json:"change"` // watching, added, removed, changed, updated; same: the server reported a change, but there is none
	Name   string    `json:"name,omitzero"`
	Count  int       `json:"count,omitzero"`
}

func (w *watcher) run(ctx context.Context, uris []string) error {
	offers := w.ServerCapabilities()
	f := mcp.EventFilter{ResourceURIs: uris}
	f.Tools = offers.Tools != nil && offers.Tools.ListChanged
	f.Prompts = offers.Prompts != nil && offers.Prompts.ListChanged
	f.Resources = offers.Resources != nil && offers.Resources.ListChanged
	if len(uris) > 0 && (offers.Resources == nil || !offers.Resources.Subscribe) {
		return console.Errorf(console.NotFound, "watch without a URI shows changes of lists", "the server does not report updates of resources")
	}
	if !f.Tools && !f.Prompts && !f.Resources && len(uris) == 0 {
		w.Infof("The server does not report changes; only its log messages are shown.")
		select {
		case <-ctx.Done():
			return nil
		case <-w.Done():
			return console.Errorf(console.Unavailable, "", "the server closed the connection")
		}
	}
	for e, err := range w.Listen(ctx, f) {
		if err == nil {
			err = w.handle(ctx, e)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil // interrupted, or --timeout is over
}

// handle prints what an event changed.
func (w *watcher) handle(ctx context.Context, e mcp.Event) error {
	now := map[string]string{}
	switch e.Kind {
	case mcp.EventTools:
		for t, err := range w.Tools(ctx) {
			if err != nil {
				return err
			}
			now[t.Name] = fingerprint(t)
		}
		return w.compare(e.Kind, "tool", now)
	case mcp.EventPrompts:
		for p, err := range w.Prompts(ctx) {
			if err != nil {
				return err
			}
			now[p.Name] = fingerprint(p)
		}
		return w.compare(e.Kind, "prompt", now)
	case mcp.EventResources:
		for r, err := range w.Resources(ctx) {
			if err != nil {
				return err
			}
			now[r.URI] = fingerprint(r)
		}
		return w.compare(e.Kind, "resource", now)
	}
	change := "updated"
	if !w.watched[e.Name] {
		w.watched[e.Name], change = true, "watching"
	}
	return w.print(changeJSON{Kind: "resource", Change: change, Name: e.Name})
}

// compare prints how a list differs from what it was.
func (w *watcher) compare(kind mcp.EventKind, noun string, now map[string]string) error {
	before, known := w.lists[kind]
	w.lists[kind] = now
	if !known {
		return w.print(changeJSON{Kind: noun, Change: "watching", Count: len(now)})
	}
	var changes []changeJSON
	for _, name := range slices.Sorted(maps.Keys(now)) {
		switch text, had := before[name]; {
		case !had:
			changes = append(changes, changeJSON{Kind: noun, Change: "added", Name: name})
		case text != now[name]:
			changes = append(changes, changeJSON{Kind: noun, Change: "changed", Name: name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, still := now[name]; !still {
			changes = append(changes, changeJSON{Kind: noun, Change: "removed", Name: name})
		}
	}
	if len(changes) == 0 {
		changes = []changeJSON{{Kind: noun, Change: "same", Count: len(now)}}
	}
	for _, c := range changes {
		if err := w.print(c); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) print(c changeJSON) error {
	c.At = time.Now().UTC().Truncate(time.Second)
	if w.JSON {
		return w.PrintJSONLine(c)
	}
	text := c.Kind + " " + c.Change + " " + c.Name
	switch {
	case c.Change == "watching" && c.Name == "":
		text = "watching " + console.Count(c.Count, c.Kind)
	case c.Change == "watching":
		text = "watching " + c.Name
	case c.Change == "same":
		text = "the server reported a change in its " + c.Kind + " list, but the list is the same"
	}
	w.Field("", console.Dim.Cell(c.At.Local().Format(time.TimeOnly)), console.Text(text))
	return w.Out.Flush()
}

// fingerprint is the JSON of an entry, for comparison.
func fingerprint(v any) string {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(text)
}
