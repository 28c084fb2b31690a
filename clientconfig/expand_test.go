package clientconfig

import (
	"errors"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	for _, tt := range []struct{ rule, text, want string }{
		{"none", "${DSN} $DSN {env:DSN}", "${DSN} $DSN {env:DSN}"},
		{"braces", "a ${DSN} b ${DSN}", "a postgres://db b postgres://db"},
		{"braces", "$DSN {DSN} $ ${", "$DSN {DSN} $ ${"},
		{"braces", "${NONE:-x:-y} ${EMPTY:-z} ${DSN:-q}", "x:-y z postgres://db"},
		{"braces", "${EMPTY}", ""},
		{"shell", "$DSN/${DSN} 5$ $1 $", "postgres://db/postgres://db 5$ $1 $"},
		{"shell", "$DSN_", "!DSN_"},
		{"named", "${env:DSN} $DSN ${userHome}${pathSeparator}x", "postgres://db $DSN /home/ann/x"},
		{"named", "${workspaceFolder} ${workspaceFolderBasename}", "/web web"},
		{"named", "${input:key} ${input:key}", "secret secret"},
		{"plain", "{env:DSN} ${env:DSN} {DSN} {", "postgres://db $postgres://db {DSN} {"},
		{"braces", "${NONE}", "!the variable NONE"},
		{"braces", "${env:DSN}", "!is not a variable"},
		{"braces", "${}", "!is not a variable"},
		{"shell", "$NONE", "!the variable NONE"},
		{"shell", "$(cat /etc/passwd)", "!is not run"},
		{"shell", "$(echo Bearer $DSN)/$(echo ${DSN})", "Bearer postgres://db/postgres://db"},
		{"shell", "$(echo $NONE)", "!the variable NONE"},
		{"shell", "$(echo a; cat /etc/passwd)", "!is not run"},
		{"shell", "$(echo $(cat /etc/passwd))", "!is not run"},
		{"shell", "$(echo -n a)", "!is not run"},
		{"shell", "$(echo \"a\")", "!is not run"},
		{"shell", "$(echo a", "!is not run"},
		{"shell", "$(echo)", "!is not run"},
		{"named", "${env:NONE}", "!the variable NONE"},
		{"named", "${command:x}", "!${command:x}"},
		{"named", "${input:other}", "!${input:other}"},
		{"plain", "{env:NONE}", "!the variable NONE"},
		{"plain", "{file:~/.ssh/id}", "!is not read"},
	} {
		s := &Server{Name: "a", File: "/etc/f", Key: "mcpServers.a", Args: []string{"x", tt.text}, rule: tt.rule, project: "/web"}
		s.inputs = []Input{{ID: "key", Password: true}}
		asked := 0
		out, err := s.Expand(Values{Getenv: environment, Home: "/home/ann", Input: func(in Input) (string, error) {
			if !in.Password {
				return "", ErrUnset
			}
			asked++
			return "secret", nil
		}})
		if want, bad := strings.CutPrefix(tt.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "/etc/f: mcpServers.a: args[1]") {
				t.Errorf("%s: %s = %v, want %s", tt.rule, tt.text, err, want)
			}
			continue
		}
		if err != nil || out.Args[1] != tt.want {
			t.Errorf("%s: %s = %v, %v; want %s", tt.rule, tt.text, out, err, tt.want)
		}
		if asked > 1 {
			t.Errorf("%s was asked %d times", tt.text, asked)
		}
	}
}

func TestExpand_unset(t *testing.T) {
	for _, s := range []Server{
		{Args: []string{"x"}, Env: map[string]string{"A": "${NONE}"}, rule: "braces"},
		{Args: []string{"x"}, EnvNames: []string{"NONE"}},
		{URL: "http://x", HeaderNames: map[string]string{"X": "NONE"}},
		{URL: "http://x", Bearer: "NONE"},
		{URL: "http://${NONE}", rule: "braces"},
		{Args: []string{"${input:x}"}, rule: "named"},
	} {
		if _, err := s.Expand(Values{}); !errors.Is(err, ErrUnset) {
			t.Errorf("Expand(%+v) = %v, want ErrUnset", s, err)
		}
	}
}

// A value from outside cannot begin another header.
func TestExpand_lineEnd(t *testing.T) {
	s := &Server{URL: "http://x", Headers: map[string]string{"A": "${V}"}, rule: "braces"}
	_, err := s.Expand(Values{Getenv: func(string) (string, bool) { return "a\r\nB: c", true }})
	if err == nil || strings.Contains(err.Error(), "B: c") {
		t.Errorf("Expand = %v, want an error without the value", err)
	}
}

func TestExpand_leavesTheEntry(t *testing.T) {
	s := &Server{Args: []string{"${DSN}"}, Env: map[string]string{"A": "${DSN}"}, EnvNames: []string{"DSN"}, rule: "braces"}
	if _, err := s.Expand(Values{Getenv: environment}); err != nil {
		t.Fatal(err)
	}
	if s.Args[0] != "${DSN}" || len(s.Env) != 1 || s.Env["A"] != "${DSN}" {
		t.Errorf("after Expand the entry is %+v", s)
	}
}
