package main

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/mcp"
)

const promptWithArguments = "test_prompt_with_arguments"

func addPrompts(s *mcp.Server) {
	addSimplePrompt(s, "test_simple_prompt")
	s.AddPrompt(mcp.Prompt{
		Name:        promptWithArguments,
		Description: "A prompt with two blanks.",
		Arguments: []mcp.PromptArgument{
			{Name: "arg1", Description: "the first blank", Required: true},
			{Name: "arg2", Description: "the second blank", Required: true},
		},
	}, func(_ context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
		return user(mcp.Text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", c.Argument("arg1"), c.Argument("arg2")))), nil
	})
	s.AddPrompt(mcp.Prompt{
		Name:        "test_prompt_with_embedded_resource",
		Description: "A prompt that brings a resource along.",
		Arguments:   []mcp.PromptArgument{{Name: "resourceUri", Description: "the resource's URI", Required: true}},
	}, func(_ context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
		return user(
			mcp.Embed(mcp.ResourceContents{
				URI: c.Argument("resourceUri"), MIMEType: "text/plain", Text: "Embedded resource content for testing.",
			}),
			mcp.Text("Please process the embedded resource above."),
		), nil
	})
	s.AddPrompt(mcp.Prompt{Name: "test_prompt_with_image", Description: "A prompt that brings an image along."},
		func(context.Context, *mcp.Call) (*mcp.PromptResult, error) {
			return user(mcp.Image(png, "image/png"), mcp.Text("Please analyze the image above.")), nil
		})
	s.AddPrompt(mcp.Prompt{Name: "test_input_required_result_prompt", Description: "A prompt that asks first."}, asksContext)
}

func addSimplePrompt(s *mcp.Server, name string) {
	s.AddPrompt(mcp.Prompt{Name: name, Description: "A prompt without blanks."},
		func(context.Context, *mcp.Call) (*mcp.PromptResult, error) {
			return user(mcp.Text("This is a simple prompt for testing.")), nil
		})
}

type contextForm struct {
	Context string `json:"context"`
}

func asksContext(_ context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
	given, err := mcp.Ask[contextForm](c, "user_context", "What context should the prompt use?")
	if err != nil {
		return nil, err
	}
	return user(mcp.Text("Prompt with context: " + given.Context)), nil
}

// user returns a prompt whose messages are all from the user, one block each.
func user(content ...mcp.Content) *mcp.PromptResult {
	p := &mcp.PromptResult{}
	for _, block := range content {
		p.Messages = append(p.Messages, mcp.PromptMessage{Role: "user", Content: block})
	}
	return p
}
