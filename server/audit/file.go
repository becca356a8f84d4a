package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/server/audit/logfile"
)

// The formats of a LogFile.
const (
	// FormatJSON writes each event as a line of JSON.
	FormatJSON = "json"
	// formatLegacy writes the most important fields of each event as a line of text.
	formatLegacy = "legacy"
)

// Formats lists all formats.
var Formats = []string{formatLegacy, FormatJSON}

// Version is the API version of written events. There is no other.
var Version = auditv1.SchemeGroupVersion.String()

// encoder encodes events in that version.
var encoder = audit.Codecs.LegacyCodec(auditv1.SchemeGroupVersion)

// LogFile configures the log's file. A limit of 0 is no limit.
type LogFile struct {
	// Path is "-" for standard output, and empty for no file.
	Path string
	// MaxAge is in days, and MaxSize in megabytes.
	MaxAge, MaxBackups, MaxSize int
	Compress                    bool
	Format                      string
	Delivery
}

// lines writes events as lines.
type lines struct {
	out    io.Writer
	legacy bool
	close  func() error
}

func openFile(c LogFile, failures *failures) (*lines, error) {
	l := &lines{out: os.Stdout, legacy: c.Format == formatLegacy, close: func() error { return nil }}
	if c.Path == "-" {
		return l, nil
	}
	file, err := logfile.Open(logfile.Config{
		Path: c.Path, MaxBytes: int64(c.MaxSize) << 20, MaxAge: time.Duration(c.MaxAge) * 24 * time.Hour,
		MaxBackups: c.MaxBackups, Compress: c.Compress, Failed: failures.loggerFor(logPlugin),
	})
	if err != nil {
		return nil, fmt.Errorf("open --audit-log-path: %w", err)
	}
	l.out, l.close = file, file.Close
	return l, nil
}

// Close closes the file.
func (l *lines) Close() error { return l.close() }

func (l *lines) send(_ context.Context, events []*auditinternal.Event) (lost int, err error) {
	var errs []error
	for _, e := range events {
		if err := l.write(e); err != nil {
			errs = append(errs, err)
		}
	}
	return len(errs), errors.Join(errs...)
}

// write writes an event without control characters, which could act on a reader's terminal.
func (l *lines) write(e *auditinternal.Event) error {
	if l.legacy {
		_, err := io.WriteString(l.out, escape.Line(audit.EventString(e))+"\n")
		return err
	}
	var line bytes.Buffer
	if err := encoder.Encode(e, &line); err != nil {
		return err
	}
	_, err := l.out.Write(escape.JSON(line.Bytes()))
	return err
}
