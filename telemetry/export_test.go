package telemetry

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// ExportTo makes spans for an exporter of the test's.
func (t *Telemetry) ExportTo(e sdktrace.SpanExporter) { t.traces = newTracesTo(e, "test") }

// Flush sends the spans that have ended.
func (t *Telemetry) Flush() { _ = t.traces.provider.ForceFlush(context.Background()) }

// What tests look into.
const (
	MaxSeries  = maxSeries
	MaxLogged  = maxLogged
	AuditQueue = auditQueue
	CountEvery = countInterval
	CountShare = countShare
)

var (
	Escape = escape
	Hidden = hidden
)
