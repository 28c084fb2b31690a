package agentcli

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// commands are the commands that do what tools do, each with the argument that stands
// without a flag.
var commands = map[string]struct{ words, argument string }{
	"get_next_task":      {"bossman next", ""},
	"get_task":           {"bossman task show", "task"},
	"review_task":        {"bossman review", "verdict"},
	"report_progress":    {"bossman note", "note"},
	"report_task_done":   {"bossman done", ""},
	"report_task_failed": {"bossman fail", ""},
	"ask_question":       {"bossman ask", "question"},
	"get_answer":         {"bossman ask", "question"},
	"create_task":        {"bossman task add", "title"},
	"create_plan":        {"bossman task plan", ""},
	"list_tasks":         {"bossman task list", ""},
	"list_questions":     {"bossman inbox", ""},
}

// implied are arguments that a command finds in the directory, or does not have.
var implied = map[string]bool{"worker": true, "claim": true, "detail": true}

// voice formats the call of a tool as the command that does the same, and arguments alone as
// flags.
func voice(tool string, args ...any) string { return command(tool, implied, args) }

// claimVoice is voice where the directory does not have the claim: commands name it.
func claimVoice(tool string, args ...any) string {
	return command(tool, map[string]bool{"worker": true, "detail": true}, args)
}

func command(tool string, implied map[string]bool, args []any) string {
	if tool == "" {
		name, _ := args[0].(string)
		return flag(name, args[1])
	}
	c, ok := commands[tool]
	if !ok {
		return tool
	}
	words := []string{c.words}
	var texts []string // of comments
	for i := 0; i+1 < len(args); i += 2 {
		name, _ := args[i].(string)
		switch {
		case name == "detail" && args[i+1] == "diff":
			words[0] = "bossman task diff"
		case implied[name], tool == "review_task" && name == "task":
		case name == c.argument:
			words = append(words, quote(args[i+1]))
		case name == "evidence":
			for _, e := range listOf[evidence](args[i+1]) {
				words = append(words, "--evidence", quote(e.Kind+"="+e.Ref))
			}
		case name == "comments":
			for _, c := range listOf[board.Comment](args[i+1]) {
				words, texts = append(words, "--comment", quote(c.Place())), append(texts, quote(c.Text))
			}
		default:
			words = append(words, flag(name, args[i+1]))
		}
	}
	words = append(words, texts...)
	return "`" + strings.Join(words, " ") + "`"
}

// flag formats an argument of a tool as the flag of a command.
func flag(name string, value any) string {
	name = "--" + strings.ReplaceAll(name, "_", "-")
	if value == true {
		return name
	}
	return name + " " + quote(value)
}

// AsCommands rewrites the calls of tools in a text as the commands that do the same. What others
// wrote, in lines that quote them or in quotation marks, stays as it is.
func AsCommands(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for n, line := range lines {
		if !strings.HasPrefix(line, ">") {
			lines[n] = asCommands(line)
		}
	}
	return strings.Join(lines, "")
}

// ours is what is rewritten in a line, and quotations, which are not.
var ours = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|repeat the call\b|\b(?:` + strings.Join(slices.Sorted(maps.Keys(commands)), "|") + `)\b`)

func asCommands(line string) string {
	var out strings.Builder
	for {
		at := ours.FindStringIndex(line)
		if at == nil {
			return out.String() + line
		}
		out.WriteString(line[:at[0]])
		tool, rest := line[at[0]:at[1]], line[at[1]:]
		if _, ok := commands[tool]; !ok {
			switch value, after, ok := valueAfter(tool, rest); {
			case ok:
				tool, rest = flag(strings.Trim(tool, `"`), value), after
			case tool[0] != '"':
				tool = "repeat the command"
			}
			out.WriteString(tool)
			line = rest
			continue
		}
		var args []any
		if strings.HasPrefix(rest, " {") {
			decoder := jsontext.NewDecoder(strings.NewReader(rest[1:]))
			if list, ok := arguments(decoder); ok {
				args, rest = list, rest[1+decoder.InputOffset():]
			}
		}
		out.WriteString(voice(tool, args...))
		line = rest
	}
}

// alone are arguments that texts name without a call.
var alone = []string{`"branch"`, `"claim"`, `"no_changes"`}

// valueAfter returns the value of an argument that stands alone, such as "branch":"work", and what comes after it.
func valueAfter(name, rest string) (value any, after string, ok bool) {
	text, ok := strings.CutPrefix(rest, ":")
	if !ok || !slices.Contains(alone, name) {
		return nil, "", false
	}
	d := jsontext.NewDecoder(strings.NewReader(text))
	if err := json.UnmarshalDecode(d, &value); err != nil {
		return nil, "", false
	}
	return value, text[d.InputOffset():], true
}

// arguments reads an object as alternating names and values.
func arguments(d *jsontext.Decoder) (list []any, ok bool) {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		var value any
		if err := json.UnmarshalDecode(d, &value); err != nil {
			return nil, false
		}
		list = append(list, key, value)
	}
	_, err := d.ReadToken()
	return list, err == nil
}

type evidence struct {
	Kind string `json:"kind"`
	Ref  string `json:"ref"`
}

// listOf reads the examples of an argument in a call.
func listOf[T any](v any) (out []T) {
	if text, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(text, &out)
	}
	return out
}

// quote writes a value as one word of a shell.
func quote(v any) string {
	s, ok := v.(string)
	if !ok {
		text, _ := json.Marshal(v)
		s = string(text)
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,+"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
