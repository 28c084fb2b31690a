package gatewaycli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

const (
	// askTime is how long people have to answer a question of an upstream. Then it is cancelled.
	askTime = 5 * time.Minute
	// askPoll is how often the answer is looked for.
	askPoll = time.Second

	// maxMessage is how much of what an upstream asks is shown.
	maxMessage = 8 << 10

	cancelled = board.UpstreamCancel
	declined  = "decline"
)

// A form is what an upstream asks for.
type form struct {
	Properties map[string]field `json:"properties"`
	Required   []string         `json:"required"`
}

type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	OneOf       []option `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []option `json:"anyOf"`
	} `json:"items"`
}

// An option is a choice with a title, which people see.
type option struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

func (f field) choices() []string {
	list := slices.Concat(f.Enum, f.Items.Enum)
	for _, o := range slices.Concat(f.OneOf, f.Items.AnyOf) {
		list = append(list, o.Const)
	}
	if f.Type == "boolean" {
		list = []string{"true", "false"}
	}
	return list
}

// shown returns the choices with their titles, for people.
func (f field) shown() string {
	titles := map[string]string{}
	for _, o := range slices.Concat(f.OneOf, f.Items.AnyOf) {
		titles[o.Const] = o.Title
	}
	var list []string
	for _, choice := range f.choices() {
		text := visible.Line(choice)
		if title := titles[choice]; title != "" && title != choice {
			text += fmt.Sprintf(" (\"%s\")", visible.Line(title))
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// value reads an answer.
func (f field) value(text string) (any, error) {
	text = strings.TrimSpace(text)
	choices := f.choices()
	if f.Type != "array" && len(choices) > 0 && !slices.Contains(choices, text) {
		return nil, fmt.Errorf("%q is not one of the choices: %s", text, strings.Join(choices, ", "))
	}
	switch f.Type {
	case "boolean":
		return text == "true", nil
	case "integer":
		return strconv.ParseInt(text, 10, 64)
	case "number":
		return strconv.ParseFloat(text, 64)
	case "array":
		return board.SplitList(text), nil
	}
	return text, nil
}

// askPeople puts a question of an upstream to the inbox, and waits for the answer. To the upstream that is the user's own word,
// so only people answer.
func askPeople(ctx context.Context, b Board, actor board.Actor, claim board.Handle, c gateway.GuardedCall, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	cancel := &mcp.ElicitResult{Action: cancelled}
	var f form
	if p.Mode == "url" || jsonv2.Unmarshal(p.RequestedSchema, &f) != nil || len(f.Properties) == 0 {
		return cancel, nil
	}
	if !strings.HasPrefix(actor.Owner, access.ProcessPrefix) {
		actor.Owner = "upstream:" + c.Upstream // whoever has the agent's key may answer, too
	}
	problem := ""
	for range 3 {
		q, err := b.Ask(ctx, actor, board.NewQuestion{
			Claim: claim, Text: f.text(c, p.Message) + problem, Options: f.options(), Default: cancelled, Within: askTime, Blocking: new(false),
			ChatID: board.UpstreamChat + c.Upstream, HumanOnly: true,
		})
		if err != nil {
			return cancel, nil
		}
		for q.State == board.QuestionOpen {
			select {
			case <-ctx.Done():
				return cancel, nil
			case <-time.After(askPoll):
			}
			if now, err := b.Question(ctx, q.ID); err == nil {
				q = now
			}
		}
		switch answer := strings.TrimSpace(q.Answer); {
		case q.State != board.QuestionAnswered || answer == cancelled || q.AnsweredAs != board.ByPerson:
			return cancel, nil
		case answer == declined:
			return &mcp.ElicitResult{Action: declined}, nil
		}
		content, err := f.read(q.Answer)
		if err == nil {
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		}
		problem = fmt.Sprintf("\n\nThe last answer could not be used: %v.", err)
	}
	return cancel, nil
}

// text is the question for people.
func (f form) text(c gateway.GuardedCall, message string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The server %s asks this before it goes on with %s:\n%s\n", c.Upstream, c.Tool, visible.Quote(visible.Cut(message, maxMessage)))
	for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
		p := f.Properties[name]
		fmt.Fprintf(&b, "\n%s (%s", visible.Line(name), visible.Line(p.Type))
		if !slices.Contains(f.Required, name) {
			b.WriteString(", optional")
		}
		b.WriteString(")")
		if about := strings.TrimSpace(p.Title + " " + p.Description); about != "" {
			fmt.Fprintf(&b, ": \"%s\"", visible.Line(about))
		}
		if choices := p.shown(); p.Type == "array" && choices != "" {
			b.WriteString(". Any of " + choices)
		} else if choices != "" {
			b.WriteString(". One of " + choices)
		}
	}
	if len(f.Properties) == 1 {
		b.WriteString("\n\nAnswer with the value")
	} else {
		b.WriteString("\n\nAnswer with a line NAME=VALUE for each")
	}
	b.WriteString(", or with decline or cancel.")
	return b.String()
}

// options are the choices if there is one field to fill in.
func (f form) options() []string {
	if len(f.Properties) != 1 {
		return nil
	}
	for _, p := range f.Properties {
		if choices := p.choices(); p.Type != "array" && len(choices) > 0 && len(choices) < 19 {
			return append(choices, declined, cancelled)
		}
	}
	return nil
}

// read returns the form as an answer fills it in.
func (f form) read(answer string) (json.RawMessage, error) {
	out := map[string]any{}
	texts := map[string]string{}
	if len(f.Properties) == 1 {
		for name := range f.Properties {
			texts[name] = strings.TrimPrefix(answer, name+"=")
		}
	} else {
		for line := range strings.Lines(answer) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if name = strings.TrimSpace(name); name == "" && !ok {
				continue
			}
			if _, known := f.Properties[name]; !ok || !known {
				return nil, fmt.Errorf("%q is not NAME=VALUE with one of the names", line)
			}
			texts[name] = value
		}
	}
	for name, text := range texts {
		v, err := f.Properties[name].value(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = v
	}
	for _, name := range f.Required {
		if _, ok := out[name]; !ok {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return jsonv2.Marshal(out, jsonv2.Deterministic(true))
}
