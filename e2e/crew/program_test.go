package crew

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/model"
)

// execute is the only tool of the program: it runs a command.
const execute = "execute"

// claimHeader has the claim of a job, in all requests of its agent, and kindHeader its kind, in those
// of programs and players.
const (
	claimHeader = "X-Claim"
	kindHeader  = "X-Kind"
)

// program is the agent of the slots with a command: it does what its model says, until that says
// that it has finished.
func program(url, lingering string) error {
	q := query{Tools: []string{execute}}
	for {
		move, _, err := consult(url, command, q)
		if err != nil {
			return err
		}
		if move.Tool == "" {
			fmt.Println(move.Text)
			break
		}
		var input struct{ Command string }
		if err := json.Unmarshal(move.Input, &input); err != nil {
			return err
		}
		out := shell(input.Command)
		fmt.Printf("%s\n%s\n", input.Command, out)
		q.Results = append(q.Results, out)
	}
	if _, err := os.Stat(filepath.Join(lingering, os.Getenv("BOSSMAN_TASK"))); err == nil {
		select {}
	}
	return nil
}

// shell runs a command, and returns its output.
func shell(command string) string {
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	if err != nil {
		out = append(out, err.Error()...)
	}
	return string(out)
}

// A query is what programs and players ask the model: the tools that they have, the results of its
// calls, and what the runner told them.
type query struct{ Tools, Results, Told []string }

// consult asks the model what to do.
func consult(url string, k kind, q query) (move model.Move, h http.Header, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return move, nil, err
	}
	r, err := send(http.MethodPost, url+"/program", k, bytes.NewReader(body))
	if err != nil {
		return move, nil, err
	}
	defer r.Body.Close()
	return move, r.Header, json.NewDecoder(r.Body).Decode(&move)
}

// send makes a request for the job at hand.
func send(method, url string, k kind, body io.Reader) (*http.Response, error) {
	q, err := http.NewRequest(method, url, body)
	if err != nil {
		return nil, err
	}
	q.Header.Set(claimHeader, os.Getenv("BOSSMAN_CLAIM"))
	q.Header.Set(kindHeader, string(k))
	return http.DefaultClient.Do(q)
}

// programs is the interface of the model to programs and players.
func (o *office) programs(w http.ResponseWriter, r *http.Request) {
	var q query
	err := json.NewDecoder(r.Body).Decode(&q)
	raw, _ := json.Marshal(q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if move, ok := o.next(w, model.Request{HTTP: r, Raw: raw, Tools: q.Tools, Results: q.Results}); ok {
		_ = json.NewEncoder(w).Encode(move)
	}
}

// recordings gives a player the recording for its job.
func (o *office) recordings(w http.ResponseWriter, r *http.Request) {
	k := kindOf(r)
	j := o.plan.job(r.Header.Get(claimHeader), k)
	http.ServeFile(w, r, harness.Dir("crew", "testdata", recordingOf(k, j.fault)))
}

// launcher is the program that bossman work starts in place of an agent. It gives the agent its
// credential and starts it.
func launcher(agent, lingering string) string {
	return fmt.Sprintf(`#!/bin/sh
export ANTHROPIC_CUSTOM_HEADERS="%s: $BOSSMAN_CLAIM"
case $BOSSMAN_WORKTREE in
*/slot-1) export CLAUDE_CODE_OAUTH_TOKEN=dummy ;;
*) export ANTHROPIC_API_KEY=dummy ;;
esac
%s "$@"
code=$?
if [ -e %s/$BOSSMAN_TASK ]; then
	trap '' TERM
	tail -f /dev/null
fi
exit $code
`, claimHeader, agent, lingering)
}
