package crew

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bossman-dev/bossman/e2e/internal/model"
)

// execute is the only tool of the program: it runs a command.
const execute = "execute"

// claimHeader has the claim of a job, in all requests of its agent.
const claimHeader = "X-Claim"

// program is the agent of the slots with a command: it does what its model says, until that says
// that it has finished.
func program(url, lingering string) error {
	results := []string{}
	for {
		move, err := consult(url+"/program", results)
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
		out, err := exec.Command("sh", "-c", input.Command).CombinedOutput()
		if err != nil {
			out = append(out, err.Error()...)
		}
		fmt.Printf("%s\n%s\n", input.Command, out)
		results = append(results, string(out))
	}
	if _, err := os.Stat(filepath.Join(lingering, os.Getenv("BOSSMAN_TASK"))); err == nil {
		select {}
	}
	return nil
}

// consult asks the model what to do.
func consult(url string, results []string) (move model.Move, err error) {
	body, err := json.Marshal(results)
	if err != nil {
		return move, err
	}
	q, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return move, err
	}
	q.Header.Set(claimHeader, os.Getenv("BOSSMAN_CLAIM"))
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return move, err
	}
	defer r.Body.Close()
	return move, json.NewDecoder(r.Body).Decode(&move)
}

// programs is the interface of the model to the program.
func (o *office) programs(w http.ResponseWriter, r *http.Request) {
	q := model.Request{HTTP: r, Tools: []string{execute}}
	if err := json.NewDecoder(r.Body).Decode(&q.Results); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if move, ok := o.next(w, q); ok {
		_ = json.NewEncoder(w).Encode(move)
	}
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
