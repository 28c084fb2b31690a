package agentcli

import "testing"

// TestAsCommands: calls become commands, and the words of others stay as they are.
func TestAsCommands(t *testing.T) {
	for text, want := range map[string]string{
		`Next: report_task_done {"claim":"web-1/1.abcde","summary":"It \"works\"."} or get_task {"task":"web-2"}.`: "Next: `bossman done --summary 'It \"works\".'` or `bossman task show web-2`.",
		"> call create_task\n": "> call create_task\n",
		"\"Fix create_task: get_task returns 404\"\nrepeat the call, or get_next_task": "\"Fix create_task: get_task returns 404\"\nrepeat the command, or `bossman next`",
		`in "/src/create_task", "a \" get_task", then list_tasks`:                      "in \"/src/create_task\", \"a \\\" get_task\", then `bossman task list`",
		`a " alone, then create_plan`:                                                  "a \" alone, then `bossman task plan`",
		`review_task {"task":"web-1","claim":"web-1/review.abcde","verdict":"reject","note":"…","comments":[{"file":"a b.go","line":3,"text":"no"}]}`: "`bossman review reject --note '…' --comment 'a b.go:3' no`",
		`get_task {"task":"web-1","detail":"diff"}`: "`bossman task diff web-1`",
		`say "repeat the call"`:                     `say "repeat the call"`,
		`repeat the call with "no_changes":true, or with "branch":"my work": see it`: `repeat the command with --no-changes, or with --branch 'my work': see it`,
		`"branch": not it, nor "other":1 or "claim":`:                                `"branch": not it, nor "other":1 or "claim":`,
	} {
		if got := AsCommands(text); got != want {
			t.Errorf("AsCommands(%q)\n got %q\nwant %q", text, got, want)
		}
	}
}
