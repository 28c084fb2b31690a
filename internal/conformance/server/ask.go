//lint:file-ignore SA1019 what is deprecated must work, too

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bossman-dev/bossman/mcp"
)

// Forms that tools ask the user to fill in. The suite answers fields with these
// names.
type (
	nameForm struct {
		Name string `json:"name"`
	}
	colorForm struct {
		Color string `json:"color"`
	}
	okForm struct {
		OK bool `json:"ok"`
	}
	confirmForm struct {
		Confirm bool `json:"confirm"`
	}
)

// addAsking adds the tools that ask the client. Each is written once and works
// in every revision.
func addAsking(s *mcp.Server) {
	mcp.AddTool(s, mcp.Tool{Name: "test_sampling", Description: "Ask the client's model."}, sampling)
	mcp.AddTool(s, mcp.Tool{Name: "test_elicitation", Description: "Ask for a user name and an email address."}, eliciting)
	form(s, "test_elicitation_sep1034_defaults", "Ask with a form that has defaults.", "Please check the defaults", defaultsForm)
	form(s, "test_elicitation_sep1330_enums", "Ask with a form of choices.", "Please choose", choicesForm)
	mcp.AddTool(s, mcp.Tool{Name: "test_missing_capability", Description: "Need a model on the client's side."}, asksModel)
	mcp.AddTool(s, mcp.Tool{Name: "test_streaming_elicitation", Description: "Ask for a name while the client listens."}, asksName)

	const prefix = "test_input_required_result_"
	mcp.AddTool(s, mcp.Tool{Name: prefix + "elicitation", Description: "Ask for a name and greet."}, asksName)
	mcp.AddTool(s, mcp.Tool{Name: prefix + "sampling", Description: "Ask the client's model for a capital."}, asksModel)
	mcp.AddTool(s, mcp.Tool{Name: prefix + "list_roots", Description: "Ask where the client lets us work."}, asksRoots)
	mcp.AddTool(s, mcp.Tool{Name: prefix + "request_state", Description: "Ask, and remember something meanwhile."}, remembers)
	mcp.AddTool(s, mcp.Tool{Name: prefix + "tampered_state", Description: "Ask, and remember something meanwhile."}, remembers)
	mcp.AddTool(s, mcp.Tool{Name: prefix + "multiple_inputs", Description: "Ask the person, the model and the client at once."}, asksAll)
	mcp.AddTool(s, mcp.Tool{Name: prefix + "multi_round", Description: "Ask twice, one after the other."}, asksTwice)
	mcp.AddTool(s, mcp.Tool{Name: prefix + "capabilities", Description: "Ask whatever the client can answer."}, asksAble)
}

type promptArgument struct {
	Prompt string `json:"prompt" jsonschema:"what to ask the model"`
}

func sampling(_ context.Context, c *mcp.Call, in promptArgument) (string, error) {
	said, err := c.Sample("answer", ask(in.Prompt, 100))
	if err != nil {
		return "", err
	}
	return "LLM response: " + textOf(said), nil
}

type messageArgument struct {
	Message string `json:"message" jsonschema:"what to ask the person"`
}

// userForm is raw JSON because its fields say more than a Go type can.
const userForm = `{
  "type": "object",
  "properties": {
    "username": {"type": "string", "description": "User's response"},
    "email": {"type": "string", "format": "email", "description": "User's email address"}
  },
  "required": ["username", "email"]
}`

func eliciting(_ context.Context, c *mcp.Call, in messageArgument) (string, error) {
	filled, err := c.Elicit("user", &mcp.ElicitParams{Message: in.Message, RequestedSchema: json.RawMessage(userForm)}, nil)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("User response: action=%s, content=%s", filled.Action, filled.Content), nil
}

// form adds a tool that asks with one form and returns the answer.
func form(s *mcp.Server, name, description, message, schema string) {
	mcp.AddTool(s, mcp.Tool{Name: name, Description: description},
		func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
			filled, err := c.Elicit("form", &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}, nil)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Elicitation completed: action=%s, content=%s", filled.Action, filled.Content), nil
		})
}

const defaultsForm = `{
  "type": "object",
  "properties": {
    "name": {"type": "string", "description": "User name", "default": "John Doe"},
    "age": {"type": "integer", "description": "User age", "default": 30},
    "score": {"type": "number", "description": "User score", "default": 95.5},
    "status": {"type": "string", "description": "User status", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "description": "Verification status", "default": true}
  },
  "required": []
}`

const choicesForm = `{
  "type": "object",
  "properties": {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
      "type": "string",
      "oneOf": [
        {"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"},
        {"const": "value3", "title": "Third Option"}
      ]
    },
    "legacyEnum": {
      "type": "string",
      "enum": ["opt1", "opt2", "opt3"],
      "enumNames": ["Option One", "Option Two", "Option Three"]
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {
      "type": "array",
      "items": {
        "anyOf": [
          {"const": "value1", "title": "First Choice"},
          {"const": "value2", "title": "Second Choice"},
          {"const": "value3", "title": "Third Choice"}
        ]
      }
    }
  },
  "required": []
}`

func asksName(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	user, err := mcp.Ask[nameForm](c, "user_name", "What is your name?")
	if err != nil {
		return "", err
	}
	return "Hello, " + user.Name + "!", nil
}

func asksModel(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	said, err := c.Sample("capital_question", ask("What is the capital of France?", 100))
	if err != nil {
		return "", err
	}
	return textOf(said), nil
}

func asksRoots(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	roots, err := c.Roots("client_roots")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The client has %d roots.", len(roots)), nil
}

// remembers shows that the value of Once comes back with the answer: the second
// run does not compute it.
func remembers(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	made := false
	_, err := mcp.Once(c, "mark", func() (string, error) {
		made = true
		return "made before the question", nil
	})
	if err != nil {
		return "", err
	}
	if _, err := mcp.Ask[okForm](c, "confirm", "Please confirm"); err != nil {
		return "", err
	}
	if made {
		return "", &mcp.ToolError{Text: "The answer came without the state of its question."}
	}
	return "state-ok", nil
}

func asksAll(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	user, err1 := mcp.Ask[nameForm](c, "user_name", "What is your name?")
	said, err2 := c.Sample("greeting", ask("Generate a greeting", 50))
	roots, err3 := c.Roots("client_roots")
	if err := mcp.JoinAsks(err1, err2, err3); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s, you have %d roots.", textOf(said), user.Name, len(roots)), nil
}

func asksTwice(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	user, err := mcp.Ask[nameForm](c, "step1", "Step 1: What is your name?")
	if err != nil {
		return "", err
	}
	favourite, err := mcp.Ask[colorForm](c, "step2", "Step 2: What is your favorite color?")
	if err != nil {
		return "", err
	}
	return user.Name + " likes " + favourite.Color + ".", nil
}

func asksAble(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
	client := c.ClientCapabilities()
	var errs []error
	if client.HasForm() {
		_, err := mcp.Ask[nameForm](c, "user_name", "What is your name?")
		errs = append(errs, err)
	}
	if client.Sampling != nil {
		_, err := c.Sample("greeting", ask("Generate a greeting", 50))
		errs = append(errs, err)
	}
	if client.Roots != nil {
		_, err := c.Roots("client_roots")
		errs = append(errs, err)
	}
	if err := mcp.JoinAsks(errs...); err != nil {
		return "", err
	}
	return fmt.Sprintf("The client answered %d questions.", len(errs)), nil
}

// ask returns the start of a conversation with a model.
func ask(question string, maxTokens int) *mcp.SampleParams {
	return &mcp.SampleParams{
		Messages:  []mcp.SampleMessage{{Role: "user", Content: mcp.Blocks{mcp.Text(question)}}},
		MaxTokens: maxTokens,
	}
}

// textOf returns the text of a model's answer.
func textOf(said *mcp.SampleResult) string {
	var s string
	for _, block := range said.Content {
		s += block.Text
	}
	return s
}
