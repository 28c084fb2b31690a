package mcp

import "reflect"

// Output is a typed result with more than its value. Use it as the Out of
// AddTool.
type Output[T any] struct {
	// Value becomes the structured content. The output schema is that of T.
	Value T
	// Content is shown to the model. If nil, it is Value as JSON text.
	Content []Content
	Meta    Meta
}

// output is implemented by all Outputs.
type output interface {
	valueType() reflect.Type
	toolResult() (*ToolResult, error)
}

func (o Output[T]) valueType() reflect.Type { return reflect.TypeFor[T]() }

func (o Output[T]) toolResult() (*ToolResult, error) {
	res, err := newToolResult(o.Value)
	if err != nil {
		return nil, err
	}
	r := *res // T may be *ToolResult
	if o.Content != nil {
		r.Content = o.Content
	}
	if o.Meta != nil {
		r.Meta = o.Meta
	}
	return &r, nil
}

// outputType returns the type of the structured content of an Out.
func outputType[Out any]() reflect.Type {
	t := reflect.TypeFor[Out]()
	v := reflect.New(t)
	if t.Kind() == reflect.Pointer {
		v = reflect.New(t.Elem())
	}
	if o, ok := v.Interface().(output); ok {
		return o.valueType()
	}
	return t
}
