package mcp_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// A task that is said to be completed has a result.
func TestTask_withoutResult(t *testing.T) {
	for _, result := range []string{``, `,"result":null`, `,"result":[]`} {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, mcp.ClientOptions{Tasks: true}, func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
				return answer(m, `{"resultType":"complete","taskId":"1","status":"completed"`+result+`}`)
			})
			_, err := c.WaitTask(t.Context(), "1", nil)
			if e, ok := errors.AsType[*mcp.TaskError](err); !ok || e.ID != "1" || !strings.Contains(err.Error(), "without a result") {
				t.Errorf("Task with %q = %v, want a TaskError", result, err)
			}
		})
	}
}
