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
		Use: "watch [SERVER] [URI…] [-- COMMAND…]", Short: "Tell what changes at a server",
		Long: `Watch tells when the server's lists of tools, prompts and resources change, when the
resources that are named are updated, and what the server logs, until it is interrupted
or --timeout is over. With --json each change is one object in a line of its own.`,
		Example: `  bossman client watch https://example.com/mcp
  bossman client watch https://example.com/mcp docs://readme --json`,
	}, func(ctx context.Context, s *session, args []string) error {
		w := &watcher{session: s, seen: map[mcp.EventKind]map[string]string{}, told: map[string]bool{}}
		return w.run(ctx, args)
	})
}

// A watcher tells what changes.
type watcher struct {
	*session
	seen map[mcp.EventKind]map[string]string // what each list held: the text of each entry by name
	told map[string]bool                     // resources that were told of at the beginning
}

type changeJSON struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`   // tool, prompt, resource
	Change string    `json:"change"` // watching, added, removed, changed, updated; same: the server told of a change, and there is none
	Name   string    `json:"name,omitzero"`
	Count  int       `json:"count,omitzero"`
}

func (w *watcher) run(ctx context.Context, uris []string) error {
	offers := w.Server()
	f := mcp.Filter{Watch: uris}
	f.Tools = offers.Tools != nil && offers.Tools.ListChanged
	f.Prompts = offers.Prompts != nil && offers.Prompts.ListChanged
	f.Resources = offers.Resources != nil && offers.Resources.ListChanged
	if len(uris) > 0 && (offers.Resources == nil || !offers.Resources.Subscribe) {
		return console.Errorf(console.NotFound, "watch without a URI tells of changed lists", "the server does not tell when a resource is updated")
	}
	if !f.Tools && !f.Prompts && !f.Resources && len(uris) == 0 {
		w.Infof("The server does not tell of changes; only what it logs is shown.")
		select {
		case <-ctx.Done():
			return nil
		case <-w.Done():
			return console.Errorf(console.Unavailable, "", "the server has ended the conversation")
		}
	}
	for e, err := range w.Listen(ctx, f) {
		if err == nil {
			err = w.tell(ctx, e)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil // interrupted, or its time is over
}

func (w *watcher) tell(ctx context.Context, e mcp.Event) error {
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
	if !w.told[e.Name] {
		w.told[e.Name], change = true, "watching"
	}
	return w.print(changeJSON{Kind: "resource", Change: change, Name: e.Name})
}

// compare tells how a list differs from what it was.
func (w *watcher) compare(kind mcp.EventKind, noun string, now map[string]string) error {
	before, known := w.seen[kind]
	w.seen[kind] = now
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
	text := c.Kind + " " + c.Change + " " + w.Styled(console.Cyan, console.OneLine(c.Name))
	switch {
	case c.Change == "watching" && c.Name == "":
		text = "watching " + console.Count(c.Count, c.Kind)
	case c.Change == "watching":
		text = "watching " + w.Styled(console.Cyan, console.OneLine(c.Name))
	case c.Change == "same":
		text = "the list of " + c.Kind + "s is told to have changed, and is as before"
	}
	w.Linef("%s %s", w.Styled(console.Dim, c.At.Local().Format(time.TimeOnly)), text)
	return w.Out.Flush()
}

// fingerprint is an entry's text, to be compared.
func fingerprint(v any) string {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(text)
}
