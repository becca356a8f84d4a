package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
)

// recordOptions are the flags of kx trace record.
type recordOptions struct {
	*traceOptions
	lasts               time.Duration
	breakpoints, faults bool
	off, status         bool
}

// recordingsPath is where a server has its recordings.
const recordingsPath = api.KX + "/recordings"

func newTraceRecordCommand(o *traceOptions) *cobra.Command {
	r := &recordOptions{traceOptions: o}
	cmd := &cobra.Command{
		Use:   "record [FILTER]",
		Short: "Have a running server record the objects of requests, for a while",
		Long: `Have a running server record the objects of requests for a while, as if their clients had asked for it: kubectl has no flag for that.
Without a filter it is every request. The filter can ask for what is known of a request before it is carried out: verb, resource, ns,
name, user, agent and the like. Of a create the name is not known by then: it is in the body.

With --breakpoints and --faults, whoever may command the server can make these meanwhile, unless it was started with
--allow-breakpoints=never or --allow-faults=never. What is made ends with the recording, and requests that are held go on.

It needs the right to create recordings in kx.dev, which administrators have and whoever has the role kx:admin.`,
		Example: `  kx trace record agent:kubectl              # what kubectl does, for 15 minutes
  kx trace record --for 2m --breakpoints     # everything, and breakpoints
  kx trace record --status                   # what is recorded, and until when
  kx trace record --off                      # nothing any more`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd.Context(), strings.Join(args, ""), cmd.OutOrStdout())
		},
	}
	cmd.Flags().DurationVar(&r.lasts, "for", 15*time.Minute, "how long, a day at most")
	cmd.Flags().BoolVar(&r.breakpoints, "breakpoints", false, "allow breakpoints meanwhile")
	cmd.Flags().BoolVar(&r.faults, "faults", false, "allow faults meanwhile")
	cmd.Flags().BoolVar(&r.off, "off", false, "end all recordings")
	cmd.Flags().BoolVar(&r.status, "status", false, "show what is recorded and allowed, and until when")
	cmd.MarkFlagsMutuallyExclusive("off", "status")
	for _, other := range []string{"for", "breakpoints", "faults"} {
		cmd.MarkFlagsMutuallyExclusive("off", other)
		cmd.MarkFlagsMutuallyExclusive("status", other)
	}
	return cmd
}

func (o *recordOptions) run(ctx context.Context, filter string, out io.Writer) error {
	if filter != "" && (o.off || o.status) {
		return errors.New("trace record: --off and --status are about all recordings: leave the filter out")
	}
	seconds := o.lasts.Seconds()
	if seconds < 1 || seconds > math.MaxInt32 {
		return fmt.Errorf("trace record: --for %s: give a second or more, and a day at most", o.lasts)
	}
	config, err := o.server()
	if err != nil {
		return err
	}
	client, err := api.New(config)
	if err != nil {
		return err
	}
	switch {
	case o.status:
		return showRecordings(ctx, client, out)
	case o.off:
		if err := client.Delete(ctx, recordingsPath); err != nil {
			return fmt.Errorf("end the recordings: %w", err)
		}
		return showRecordings(ctx, client, out)
	}
	made := &v1alpha1.Recording{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Recording"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "record-"},
		Spec:       v1alpha1.RecordingSpec{Filter: filter, Seconds: int32(seconds)},
	}
	if o.breakpoints {
		made.Spec.Allow = append(made.Spec.Allow, v1alpha1.AllowBreakpoints)
	}
	if o.faults {
		made.Spec.Allow = append(made.Spec.Allow, v1alpha1.AllowFaults)
	}
	if err := client.Create(ctx, recordingsPath, made, made); err != nil {
		return fmt.Errorf("make a recording: %w", err)
	}
	fmt.Fprintln(out, sentence(made))
	return nil
}

// showRecordings says what each recording of the server does.
func showRecordings(ctx context.Context, client *api.Client, out io.Writer) error {
	var list v1alpha1.RecordingList
	if err := client.Get(ctx, recordingsPath, nil, &list); err != nil {
		return fmt.Errorf("list the recordings: %w", err)
	}
	recorded := false
	for i := range list.Items {
		r := &list.Items[i]
		recorded = recorded || r.Status.Until != nil
		if text := sentence(r); text != "" {
			fmt.Fprintln(out, text)
		}
	}
	if !recorded {
		fmt.Fprintln(out, "no objects are recorded but for requests that ask for it: kx trace record switches that on")
	}
	return nil
}

// sentence says what a recording does; it is empty for flags that allow nothing.
func sentence(r *v1alpha1.Recording) string {
	var allowed []string
	for _, a := range r.Spec.Allow {
		allowed = append(allowed, strings.ToLower(string(a)))
	}
	what := strings.Join(allowed, " and ")
	if r.Status.Until == nil {
		if what == "" {
			return ""
		}
		return what + " are allowed, as the server's flags say"
	}
	text := "objects of every request are recorded"
	if r.Spec.Filter != "" {
		text = "objects of " + escape.Line(r.Spec.Filter) + " are recorded"
	}
	if what != "" {
		text += ", and " + what + " are allowed,"
	}
	text += " until " + r.Status.Until.Local().Format(time.TimeOnly)
	if r.Status.Requests > 0 {
		text += fmt.Sprintf(": %d so far, the last is %s", r.Status.Requests, r.Status.Last)
	}
	return text
}
