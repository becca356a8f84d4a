package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/control"
)

// faultsPath is where a server has its faults.
const faultsPath = api.KX + "/faults"

func newFaultCommand() *cobra.Command {
	o := newServerOptions()
	cmd := &cobra.Command{
		Use:   "fault",
		Short: "Make requests of a running server fail, wait, or lose their webhooks",
		Long: `Make requests of a running server fail, wait, or lose their webhooks, to see what its clients make of it.

A server allows that if it was started at a terminal and listens on this machine alone, with --allow-faults, or for the time of
kx trace record --faults. It needs the right to create faults in kx.dev, which administrators have and whoever has the role kx:admin.
A fault is an object of the server, faults.kx.dev: kubectl can make, get and watch it too. It ends with the server.`,
		Example: `  kx fault add conflict 'verb:update resource:widgets' --times 3
  kx fault ls                                  # how often each was met
  kx fault rm --all                            # all is as ever`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	o.addKubeconfig(cmd.PersistentFlags(), o.dataDir)
	cmd.AddCommand(newFaultAddCommand(&o), newFaultListCommand(&o), newFaultRemoveCommand(&o))
	return cmd
}

// client returns a client of the server whose commands are used.
func (o *serverOptions) client() (*api.Client, error) {
	config, err := o.server()
	if err != nil {
		return nil, err
	}
	return api.New(config)
}

// faultKind is something that can go wrong, as a command below kx fault add.
type faultKind struct {
	use, short string
	// spec makes the fault of the arguments before the filter.
	spec func(args []string) (v1alpha1.FaultSpec, error)
	// where is the beginning of the filter, before the user's own.
	where string
}

// codeFault is a kind of fault that answers with a status.
func codeFault(use, short string, code int32) faultKind {
	return faultKind{use: use + " FILTER", short: short, spec: func([]string) (v1alpha1.FaultSpec, error) {
		return v1alpha1.FaultSpec{Effect: v1alpha1.FaultFail, Code: code}, nil
	}}
}

// effect is a kind of fault that needs nothing but its filter.
func effect(use, short string, of v1alpha1.FaultEffect) faultKind {
	return faultKind{use: use + " FILTER", short: short, spec: func([]string) (v1alpha1.FaultSpec, error) {
		return v1alpha1.FaultSpec{Effect: of}, nil
	}}
}

// faultKinds returns all of them. outage is a flag of webhook-down.
func faultKinds(outage *string) []faultKind {
	gone := codeFault("gone", "Watches end with an ERROR event of code 410, so that their clients list again", 410)
	gone.where = "step:handler.watch-event"
	return []faultKind{
		codeFault("conflict", "Writes are answered 409, as if another client had been first", 409),
		codeFault("forbidden", "Requests are answered 403", 403),
		codeFault("throttled", "Requests are answered 429, with a Retry-After", 429),
		codeFault("unavailable", "Requests are answered 503, with a Retry-After", 503),
		codeFault("timeout", "Requests are answered 504, and nothing is done", 504),
		effect("timeout-after-commit", "Writes are done and answered 504", v1alpha1.FaultTimeoutAfterCommit),
		{use: "status CODE FILTER", short: "Requests are answered with a status, from 400 to 599", spec: statusFault},
		{use: "delay TIME FILTER", short: "Requests wait first, such as 200ms", spec: waitFault("delay", v1alpha1.FaultDelay)},
		gone,
		effect("drop-watch", "Watches end in place of the next event, without a word", v1alpha1.FaultDropWatch),
		{
			use: "lag TIME FILTER", short: "Events of watches arrive later, such as by 2s, in their order",
			spec: waitFault("lag", v1alpha1.FaultLag),
		},
		effect("stale-cache", "The caches of resources hear nothing new, as long as the fault is there", v1alpha1.FaultStaleCache),
		{
			use: "webhook-down WEBHOOK FILTER", short: "Calls of an admission webhook fail as if it were down: its failurePolicy decides",
			spec: func(args []string) (v1alpha1.FaultSpec, error) { return webhookFault(args[0], *outage) },
		},
	}
}

func statusFault(args []string) (v1alpha1.FaultSpec, error) {
	code, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil {
		return v1alpha1.FaultSpec{}, fmt.Errorf("fault add status: %q: give an HTTP status, such as 422", args[0])
	}
	return v1alpha1.FaultSpec{Effect: v1alpha1.FaultFail, Code: int32(code)}, nil
}

// waitFault makes faults of a kind that takes a time.
func waitFault(use string, of v1alpha1.FaultEffect) func([]string) (v1alpha1.FaultSpec, error) {
	return func(args []string) (v1alpha1.FaultSpec, error) {
		d, err := time.ParseDuration(args[0])
		if err != nil {
			return v1alpha1.FaultSpec{}, fmt.Errorf("fault add %s: %q: give a time, such as 200ms", use, args[0])
		}
		return v1alpha1.FaultSpec{Effect: of, Delay: &metav1.Duration{Duration: d}}, nil
	}
}

// outages are the ways in which a webhook can be down.
var outages = []v1alpha1.Outage{v1alpha1.OutageRefused, v1alpha1.OutageSilent, v1alpha1.OutageError, v1alpha1.OutageCertificate}

func webhookFault(name, outage string) (v1alpha1.FaultSpec, error) {
	for _, known := range outages {
		if strings.EqualFold(outage, string(known)) {
			return v1alpha1.FaultSpec{
				Effect: v1alpha1.FaultWebhookDown, Outage: known,
				Filter: filter.Compose("step", steps.HandlerWebhook.String(), "key", "/"+name),
			}, nil
		}
	}
	return v1alpha1.FaultSpec{}, fmt.Errorf("fault add webhook-down: --outage %q: give refused, silent, error or certificate", outage)
}

// checkWebhook says that the server has no admission webhook of a name, and which it has.
func checkWebhook(ctx context.Context, client *api.Client, name string) error {
	var names []string
	for _, plural := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		var list registrationv1.ValidatingWebhookConfigurationList // both have names, and no more is read
		if err := client.Get(ctx, "/apis/admissionregistration.k8s.io/v1/"+plural, nil, &list); err != nil {
			return fmt.Errorf("list the webhooks: %w", err)
		}
		for i := range list.Items {
			for j := range list.Items[i].Webhooks {
				names = append(names, list.Items[i].Webhooks[j].Name)
			}
		}
	}
	switch {
	case slices.Contains(names, name):
		return nil
	case len(names) == 0:
		return fmt.Errorf("fault add webhook-down: the server has no admission webhook %q, and no other", name)
	}
	return fmt.Errorf("fault add webhook-down: the server has no admission webhook %q: it has %s", name,
		escape.Line(strings.Join(names, ", ")))
}

// faultOptions are the flags of kx fault add.
type faultOptions struct {
	*serverOptions
	times, after, seed int64
	probability        float64
	message, outage    string
}

func newFaultAddCommand(server *serverOptions) *cobra.Command {
	o := &faultOptions{serverOptions: server}
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Have requests go wrong from now on",
		Long: `Have requests go wrong from now on, in one of the ways below, until kx fault rm. The filter says which requests: kx help trace has
its language, and verb:* is every request.`,
		Example: `  kx fault add conflict 'verb:update resource:widgets' --times 3
  kx fault add delay 2s 'user:system:serviceaccount:* verb:list'
  kx fault add webhook-down validate.widgets.example.com verb:create --outage silent
  kx fault ls                                                 # how often each was met`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, kind := range faultKinds(&o.outage) {
		sub := &cobra.Command{
			Use: kind.use, Short: kind.short, Args: cobra.ExactArgs(strings.Count(kind.use, " ")),
			RunE: func(cmd *cobra.Command, args []string) error {
				return o.add(cmd.Context(), cmd.Name(), kind, args, cmd.OutOrStdout())
			},
		}
		fs := sub.Flags()
		fs.Int64Var(&o.times, "times", 0, "how many it hits at most; 0 is without limit")
		fs.Int64Var(&o.after, "after", 0, "how many pass first")
		fs.Float64Var(&o.probability, "probability", 1, "how likely one is hit, from 0 to 1")
		fs.Int64Var(&o.seed, "seed", 0, "decides which: the same seed hits the same ones")
		switch sub.Name() {
		case "webhook-down":
			fs.StringVar(&o.outage, "outage", "refused", "how it is down: refused, silent, error (500) or certificate")
			oneOf(sub, "outage", "refused", "silent", "error", "certificate")
		case "delay", "drop-watch", "lag", "stale-cache":
		default:
			fs.StringVar(&o.message, "message", "", "what clients are told; by default that it was injected")
		}
		cmd.AddCommand(sub)
	}
	return cmd
}

func (o *faultOptions) add(ctx context.Context, name string, kind faultKind, args []string, out io.Writer) error {
	last := len(args) - 1
	spec, err := kind.spec(args[:last])
	if err != nil {
		return err
	}
	if args[last] == "" {
		return fmt.Errorf("fault add %s: the filter is empty: verb:* is every request", name)
	}
	for _, before := range []string{kind.where, spec.Filter} {
		if before != "" {
			args[last] = before + " (" + args[last] + ")"
		}
	}
	spec.Filter, spec.Message = args[last], o.message
	spec.Count, spec.Skip, spec.Seed = o.times, o.after, o.seed
	if o.probability != 1 {
		spec.Probability = &o.probability
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	made := &v1alpha1.Fault{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Fault"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}, Spec: spec,
	}
	if spec.Effect == v1alpha1.FaultWebhookDown {
		if err := checkWebhook(ctx, client, args[0]); err != nil {
			return err
		}
	}
	if err := client.Create(ctx, faultsPath, made, made); err != nil {
		return fmt.Errorf("add a fault: %w", err)
	}
	fmt.Fprintf(out, "%s: %s at %s; kx fault rm %[1]s ends it\n", made.Name, control.Spec{Fault: &made.Spec}.Summary(),
		escape.Line(made.Spec.Filter))
	return nil
}

func newFaultListCommand(o *serverOptions) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the faults, and how often each was met", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, _, err := o.faults(cmd.Context())
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if len(all) == 0 {
				fmt.Fprintln(out, "there are no faults: kx fault add makes one")
			}
			for i := range all {
				f := &all[i]
				fmt.Fprintf(out, "%s: %s at %s: met %d times, hit %d\n", f.Name, control.Spec{Fault: &f.Spec}.Summary(),
					escape.Line(f.Spec.Filter), f.Status.Matches, f.Status.Hits)
			}
			return nil
		},
	}
}

func newFaultRemoveCommand(o *serverOptions) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "rm [NAME…]", Short: "End faults: what they delay goes on",
		RunE: func(cmd *cobra.Command, names []string) error {
			if all == (len(names) > 0) {
				return errors.New("fault rm: give the names of faults, or --all")
			}
			return o.removeFaults(cmd.Context(), names, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all of them")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWait)
		defer cancel()
		known, _, _ := o.faults(ctx) // without an answer there are no names
		for i := range known {
			names = append(names, known[i].Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// faults lists the faults of the server.
func (o *serverOptions) faults(ctx context.Context) ([]v1alpha1.Fault, *api.Client, error) {
	client, err := o.client()
	if err != nil {
		return nil, nil, err
	}
	var list v1alpha1.FaultList
	if err := client.Get(ctx, faultsPath, nil, &list); err != nil {
		return nil, nil, fmt.Errorf("list the faults: %w", err)
	}
	return list.Items, client, nil
}

// removeFaults ends faults by name, or all of them if there are no names.
func (o *serverOptions) removeFaults(ctx context.Context, names []string, out io.Writer) error {
	known, client, err := o.faults(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		for i := range known {
			names = append(names, known[i].Name)
		}
	}
	for _, name := range names {
		if err := client.Delete(ctx, faultsPath+"/"+url.PathEscape(name)); err != nil {
			return fmt.Errorf("end the fault %s: %w", name, err)
		}
		fmt.Fprintln(out, name+": ended")
	}
	return nil
}
