package mcpcli

import (
	"context"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

func (c *cli) callCommand() *cobra.Command {
	var input, out string
	cmd := c.subcommand(&cobra.Command{
		Use: "call [SERVER] TOOL [NAME=VALUE | NAME:=JSON]… [-- COMMAND…]", Short: "Call a tool",
		Long: `Call calls a tool and prints its result.

NAME=VALUE is converted to the type in the tool's schema: a=2 is a number if the schema
says number, and a string otherwise. Repeat a name for a list: tag=a tag=b. NAME:=JSON is
JSON as written. --input reads a JSON object, to which the arguments are added.

Text goes to standard output. Images, sound and other data go to new files in --out, whose
names are printed; no file is overwritten. Progress and messages of the server go to
standard error. If the server asks the user something, you are asked at the terminal;
without a terminal the answer is no. Ctrl-C cancels the call. The exit code is 5 if the
tool reports an error.`,
		Example: `  bossman client call get-sum a=2 b=3 -- npx -y @modelcontextprotocol/server-everything
  bossman client call https://example.com/mcp search query='open issues' limit=5 labels:='["bug"]'
  bossman client call --from vscode github create_issue --input issue.json
  echo '{"a":2,"b":3}' | bossman client call get-sum --input - -- ./server`,
	}, func(ctx context.Context, s *session, args []string) error {
		if len(args) == 0 {
			return console.Usagef("name the tool to call; %s lists them", s.target.line("tools", ""))
		}
		t, err := s.findTool(ctx, args[0])
		if err != nil {
			return err
		}
		given, err := s.readInput(ctx, input)
		if err != nil {
			return err
		}
		f := readForm(t.InputSchema)
		if err := f.arguments(given, args[1:]); err != nil {
			return console.WithNext(err, s.target.line("tools", console.ShellWords(args[:1]...))+" shows its arguments")
		}
		if err := f.check(given); err != nil {
			return console.Errorf(console.Usage, s.target.line("tools", console.ShellWords(args[:1]...))+" shows its arguments", "%s: %w", t.Name, err)
		}
		res, err := s.Call(ctx, t.Name, given, &mcp.CallOptions{
			Progress: func(_ context.Context, p mcp.Progress) { s.progress.Set(progressText(p)) },
			OnTask:   func(id string) { s.progress.Set("continues as task " + id) },
		})
		s.progress.Clear()
		if err != nil {
			return err
		}
		if err := s.printResult(t.Name, res, &files{dir: out}); err != nil {
			return err
		}
		if res.IsError {
			if err := s.Out.Flush(); err != nil {
				return err
			}
			return console.Errorf(console.ToolError, s.target.line("tools", console.ShellWords(args[:1]...))+" shows its arguments", "%s reported an error", t.Name)
		}
		return nil
	})
	cmd.Flags().StringVarP(&input, "input", "i", "", "`file` with the arguments as a JSON object; - is standard input")
	addOutFlag(cmd, &out)
	return cmd
}

// maxInput is the maximum size of the object that --input names.
const maxInput = 16 << 20

// readInput reads the object that --input names, an empty one without --input.
func (s *session) readInput(ctx context.Context, name string) (map[string]jsontext.Value, error) {
	given := map[string]jsontext.Value{}
	if name == "" {
		return given, nil
	}
	text, err := s.ReadFile(ctx, name, maxInput)
	if console.CodeOf(err) == console.Usage {
		return nil, fmt.Errorf("--input: %w", err)
	}
	if err != nil {
		return nil, console.Errorf(console.NotFound, "check the file name", "--input %s: %w", name, err)
	}
	if err := json.Unmarshal(text, &given); err != nil {
		where := ""
		if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			where = fmt.Sprintf(" (byte %d)", e.ByteOffset)
		}
		return nil, console.Usagef("--input %s is not a JSON object%s", name, where)
	}
	if given == nil {
		return nil, console.Usagef("--input %s is not a JSON object", name)
	}
	return given, nil
}
