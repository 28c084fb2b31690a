package mcpcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// declineKey is what a person types to decline.
const declineKey = "!"

// elicit asks the person at the terminal what the server wants to know. Without a terminal
// it declines.
func (s *session) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	name := console.Truncate(console.OneLine(s.serverName()), maxLabel)
	if terminal, err := s.RequirePerson(); err != nil || !terminal {
		s.progress.Infof("%s asks: %s\n  declined: there is no person at a terminal", name, console.OneLine(p.Message))
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	s.asking.Lock() // one question at a time
	defer s.asking.Unlock()
	s.progress.Quote(name+" asks:", p.Message)
	var content jsontext.Value
	var err error
	if p.Mode == "url" {
		s.progress.Infof("  It asks you to visit this address, which is not opened for you:\n\n  %s\n", strings.ReplaceAll(console.OneLine(p.URL), " ", "%20"))
		err = s.confirm(ctx, "  Accept? [y/N] ")
	} else {
		content, err = s.fillIn(ctx, readForm(p.RequestedSchema))
	}
	switch {
	case errors.Is(err, mcp.ErrDeclined):
		return &mcp.ElicitResult{Action: "decline"}, nil
	case errors.Is(err, io.EOF):
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case err != nil:
		return nil, err
	}
	return &mcp.ElicitResult{Action: "accept", Content: []byte(content)}, nil
}

func (s *session) serverName() string {
	if s.Client != nil {
		if i := s.ServerInfo(); i.Title != "" || i.Name != "" {
			return "The server " + cmp.Or(i.Title, i.Name)
		}
	}
	return "The server"
}

func (s *session) confirm(ctx context.Context, text string) error {
	l, err := s.ask(ctx, text)
	if err != nil {
		return err
	}
	if l = strings.ToLower(l); l != "y" && l != "yes" {
		return mcp.ErrDeclined
	}
	return nil
}

// fillIn asks for each field of a form. The error is mcp.ErrDeclined if the person declines.
func (s *session) fillIn(ctx context.Context, f *form) (jsontext.Value, error) {
	out := map[string]jsontext.Value{}
	if len(f.Fields) == 0 {
		return jsontext.Value("{}"), s.confirm(ctx, "  Accept? [y/N] ")
	}
	s.progress.Infof("  (%s declines; an empty line takes the default in brackets, or omits an optional value)", declineKey)
	for _, p := range f.Fields {
		for {
			if about := p.about(); about != "" {
				s.progress.Quote("", about)
			}
			l, err := s.ask(ctx, p.prompt())
			if err != nil {
				return nil, err
			}
			if l == declineKey {
				return nil, mcp.ErrDeclined
			}
			v, err := p.answer(l)
			if err != nil {
				s.progress.Infof("  %v", err)
				continue
			}
			if v != nil {
				out[p.Name] = v
			}
			break
		}
	}
	return json.Marshal(out, json.Deterministic(true))
}

// about is what the server says about a field: its description and its choices.
func (p *field) about() string {
	var lines []string
	if d := console.OneLine(p.Description); d != "" && d != console.OneLine(cmp.Or(p.Title, p.Name)) {
		lines = append(lines, d)
	}
	for i, c := range p.Choices {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, console.OneLine(cmp.Or(c.title, c.value))))
	}
	return strings.Join(lines, "\n")
}

// maxLabel is how many columns of a server's words stand in a prompt of ours.
const maxLabel = 40

// prompt is the prompt for one field.
func (p *field) prompt() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s", console.Truncate(console.OneLine(cmp.Or(p.Title, p.Name)), maxLabel))
	switch {
	case p.Many:
		b.WriteString(" (numbers, comma-separated)")
	case len(p.Choices) > 0:
		b.WriteString(" (a number)")
	case p.kinds() == "boolean":
		b.WriteString(" (y/n)")
	case p.kinds() != "string" && p.kinds() != "any":
		b.WriteString(" (" + console.Truncate(console.OneLine(p.kinds()), maxLabel) + ")")
	}
	if len(p.Default) > 0 {
		b.WriteString(" [" + console.Truncate(p.defaultText(), maxLabel) + "]")
	} else if !p.Required {
		b.WriteString(" (optional)")
	}
	return b.String() + ": "
}

// defaultText is the default of a field, for people.
func (p *field) defaultText() string {
	values := as[[]string](p.Default)
	if one := as[string](p.Default); one != "" {
		values = []string{one}
	}
	if len(values) == 0 {
		return console.OneLine(string(p.Default))
	}
	for i, v := range values {
		if at := slices.IndexFunc(p.Choices, func(c choice) bool { return c.value == v }); at >= 0 {
			values[i] = cmp.Or(p.Choices[at].title, v)
		}
	}
	return console.OneLine(strings.Join(values, ", "))
}

// answer parses what was typed for a field, nil to omit it.
func (p *field) answer(l string) (jsontext.Value, error) {
	switch {
	case l == "" && len(p.Default) > 0:
		return p.Default, nil
	case l == "" && !p.Required:
		return nil, nil
	case l == "" && (len(p.Choices) > 0 || p.kinds() != "string"):
		return nil, errors.New("a value is required")
	case p.Many:
		values := []string{}
		for word := range strings.SplitSeq(l, ",") {
			v, ok := p.choose(strings.TrimSpace(word))
			if !ok {
				return nil, fmt.Errorf("%q is not one of the choices", word)
			}
			values = append(values, v)
		}
		return json.Marshal(values)
	case len(p.Choices) > 0:
		v, ok := p.choose(l)
		if !ok {
			return nil, fmt.Errorf("%q is not one of the choices", l)
		}
		return json.Marshal(v)
	case p.kinds() == "boolean":
		switch strings.ToLower(l) {
		case "y", "yes", "true":
			return jsontext.Value("true"), nil
		case "n", "no", "false":
			return jsontext.Value("false"), nil
		}
		return nil, errors.New("answer y or n")
	}
	v, err := p.value(l)
	if err != nil {
		return nil, fmt.Errorf("wrong type: want %s", p.wants())
	}
	return v, nil
}

// choose finds a choice by its number, its value or its title.
func (p *field) choose(word string) (string, bool) {
	i := slices.IndexFunc(p.Choices, func(c choice) bool { return c.value == word || c.title != "" && c.title == word })
	if n, err := strconv.Atoi(word); err == nil && i < 0 {
		i = n - 1
	}
	if i < 0 || i >= len(p.Choices) {
		return "", false
	}
	return p.Choices[i].value, true
}

// ask reads a line from the terminal, below the progress.
func (s *session) ask(ctx context.Context, text string) (string, error) {
	s.progress.Clear()
	return s.ReadLine(ctx, text)
}
