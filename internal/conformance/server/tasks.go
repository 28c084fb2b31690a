package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// addTasks adds the tools that become tasks, and greet, which does not.
func addTasks(s *mcp.Server) {
	mcp.AddTool(s, mcp.Tool{Name: "greet", Description: "Greet somebody, at once."}, greet)
	mcp.AddTool(s, mcp.Tool{Name: "slow_compute", Description: "Take some time.", Tasks: mcp.TaskOptional}, slowCompute)
	mcp.AddTool(s, mcp.Tool{Name: "failing_job", Description: "Fail after a second.", Tasks: mcp.TaskRequired}, failingJob)
	mcp.AddTool(s, mcp.Tool{Name: "protocol_error_job", Description: "Break down.", Tasks: mcp.TaskOptional}, protocolErrorJob)
	mcp.AddTool(s, mcp.Tool{Name: "confirm_delete", Description: "Ask before a file is deleted.", Tasks: mcp.TaskOptional}, confirmDelete)
	mcp.AddTool(s, mcp.Tool{Name: "multi_input", Description: "Ask two questions at once.", Tasks: mcp.TaskOptional}, multiInput)
	mcp.AddTool(s, mcp.Tool{Name: "test_tool_with_task", Description: "Ask for a name, then go on as a task.", Tasks: mcp.TaskRequired}, askThenWork)
}

type person struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}

func greet(_ context.Context, _ *mcp.Call, in person) (string, error) {
	return "Hello, " + in.Name + "!", nil
}

type computation struct {
	Seconds float64 `json:"seconds" jsonschema:"how long it takes"`
	Label   string  `json:"label,omitzero" jsonschema:"what to call it"`
}

func slowCompute(_ context.Context, c *mcp.Call, in computation) (string, error) {
	return mcp.AsTask(c, func(ctx context.Context, c *mcp.Call) (string, error) {
		c.Progress(0, in.Seconds, "begun")
		if err := sleep(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
			return "", err
		}
		return fmt.Sprintf("Computed %q for %g seconds.", in.Label, in.Seconds), nil
	})
}

func failingJob(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	return mcp.AsTask(c, func(ctx context.Context, _ *mcp.Call) (string, error) {
		if err := sleep(ctx, time.Second); err != nil {
			return "", err
		}
		return "", &mcp.ToolError{Text: "This job intentionally fails."}
	})
}

func protocolErrorJob(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	return mcp.AsTask(c, func(context.Context, *mcp.Call) (string, error) {
		return "", jsonrpc.Errorf(jsonrpc.CodeInternal, "this job intentionally breaks down")
	})
}

type file struct {
	Filename string `json:"filename" jsonschema:"the file to delete; nothing is deleted in truth"`
}

func confirmDelete(_ context.Context, c *mcp.Call, in file) (string, error) {
	return mcp.AsTask(c, func(_ context.Context, c *mcp.Call) (string, error) {
		sure, err := mcp.Ask[confirmForm](c, "confirm", "Delete "+in.Filename+"?")
		if err != nil {
			return "", err
		}
		if !sure.Confirm {
			return in.Filename + " was kept.", nil
		}
		return in.Filename + " was deleted.", nil
	})
}

func multiInput(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	return mcp.AsTask(c, func(_ context.Context, c *mcp.Call) (string, error) {
		user, err1 := mcp.Ask[nameForm](c, "user_name", "What is your name?")
		sure, err2 := mcp.Ask[confirmForm](c, "confirm", "Shall we go on?")
		if err := mcp.JoinAsks(err1, err2); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s said %t.", user.Name, sure.Confirm), nil
	})
}

func askThenWork(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	user, err := mcp.Ask[nameForm](c, "user_name", "What is your name?")
	if err != nil {
		return "", err
	}
	return mcp.AsTask(c, func(context.Context, *mcp.Call) (string, error) {
		return "Hello, " + user.Name + "!", nil
	})
}
