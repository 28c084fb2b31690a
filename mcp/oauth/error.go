package oauth

import (
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
)

// An Error is an error response of an authorization server.
type Error struct {
	Code        string `json:"error"` // such as "invalid_grant"
	Description string `json:"error_description"`
}

func (e *Error) Error() string {
	if e.Description == "" {
		return fmt.Sprintf("oauth: refused: %.100q", e.Code)
	}
	return fmt.Sprintf("oauth: refused: %.100q: %.300q", e.Code, e.Description)
}

// refusalIn returns the *Error in a response, or err.
func refusalIn(err error) error {
	if e, ok := errors.AsType[*statusError](err); ok {
		var refusal Error
		if jsonv2.Unmarshal(e.body, &refusal) == nil && refusal.Code != "" {
			return &refusal
		}
	}
	return err
}
