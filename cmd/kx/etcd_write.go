package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/whatif"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/tui/shell"
)

// etcdWriteOptions are the flags of all commands that write keys.
type etcdWriteOptions struct {
	*etcdOptions
	yes, force bool
	undoFile   string
}

const writeLong = `

What is written is first decoded and checked: what the API server could not read is refused. Then the difference is shown
and confirmed (--yes confirms it beforehand). The write is one transaction that holds only if the key is still at the
revision that was read, and what was there is kept in an undo file for kx etcd undo.

The API server's watchers get the change as any other. Validation, admission and defaults of the API are not run: where the
API can do it, use the API.`

func (o *etcdWriteOptions) addFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVarP(&o.yes, "yes", "y", false, "do it without asking")
	fs.BoolVar(&o.force, "force", false, "do also what is refused otherwise")
	fs.StringVar(&o.undoFile, "undo-file", "", "where to keep what was there (default a new file in the current directory)")
}

// write plans a write, shows it, asks the user and carries it out.
func (o *etcdWriteOptions) write(cmd *cobra.Command, plan func(context.Context, *admin.Editor) (*admin.Plan, error)) error {
	err := o.ask(cmd, func(ctx context.Context, live *admin.Live) error {
		decoder, err := o.decoder()
		if err != nil {
			return err
		}
		editor := &admin.Editor{Live: live, Decoder: decoder, Custom: whatif.Custom(live, decoder), Force: o.force}
		p, err := plan(ctx, editor)
		if err != nil {
			return err
		}
		return o.apply(ctx, cmd, editor, p)
	})
	var refusal *admin.Refusal
	if errors.As(err, &refusal) {
		return &exitError{code: exitRefused, err: err}
	}
	return err
}

func (o *etcdWriteOptions) apply(ctx context.Context, cmd *cobra.Command, editor *admin.Editor, p *admin.Plan) error {
	out := cmd.OutOrStdout()
	if p.Unchanged() {
		_, err := fmt.Fprintf(out, "%s: it is like that already, nothing was written\n", escape.Line(p.Key))
		return err
	}
	colored, err := render.WantsColour(o.color, out)
	if err != nil {
		return err
	}
	if err := render.Plan(out, p, colored); err != nil {
		return err
	}
	if !o.yes {
		if err := confirm(cmd.InOrStdin(), cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	now := time.Now()
	file := o.undoFile
	if file == "" {
		file = p.UndoFile(".", now)
	}
	revision, err := editor.Apply(ctx, p, file, now)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "done at revision %d; undo with: %s\n", revision,
		shell.Line(append([]string{"kx", "etcd", "undo", file}, o.sameEtcd()...)...))
	return err
}

// confirm asks the user at the terminal.
func confirm(in io.Reader, out io.Writer) error {
	if !render.IsTerminal(in) {
		return &admin.Refusal{Reason: errors.New("nobody is there to confirm it"), Hint: "use --yes"}
	}
	fmt.Fprint(out, "Write this? [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return &admin.Refusal{Reason: errors.New("it was not confirmed"), Hint: "nothing was written"}
	}
	return nil
}

// input reads a file, or standard input for "-".
func input(cmd *cobra.Command, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(file)
}

type etcdPutOptions struct {
	etcdWriteOptions
	file string
	raw  bool
}

func newEtcdPutCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdPutOptions{etcdWriteOptions: etcdWriteOptions{etcdOptions: etcd}}
	cmd := &cobra.Command{
		Use:   "put KEY -f FILE",
		Short: "Write an object to a key, guarded",
		Long: `Write an object, given as YAML or JSON, to a key, in the format and with the encryption that the API server uses.` +
			writeLong,
		Example: `  kx etcd get configmaps/default/x > x.yaml; edit x.yaml; kx etcd put configmaps/default/x -f x.yaml
  kx etcd put configmaps/default/x -f - --yes < x.yaml
  kx etcd put configmaps/default/x -f x.bin --raw     # the bytes as they are`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.completeKeys(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := input(cmd, o.file)
			if err != nil {
				return err
			}
			return o.write(cmd, func(ctx context.Context, e *admin.Editor) (*admin.Plan, error) {
				return e.Put(ctx, o.path(args[0]), data, o.raw)
			})
		},
	}
	o.addFlags(cmd)
	// --file names a snapshot in all commands of this group.
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "file with the object, or - for standard input")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "the file is the value itself")
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

type etcdPatchOptions struct {
	etcdWriteOptions
	patch, file, kind string
}

func newEtcdPatchCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdPatchOptions{etcdWriteOptions: etcdWriteOptions{etcdOptions: etcd}, kind: string(admin.MergePatch)}
	cmd := &cobra.Command{
		Use:   "patch KEY -p PATCH",
		Short: "Change the object at a key, guarded",
		Long:  `Change the object at a key by a merge patch or a JSON patch, given as YAML or JSON.` + writeLong,
		Example: `  kx etcd patch pods/default/web -p '{"metadata":{"finalizers":null}}'
  kx etcd patch configmaps/default/x --type json -p '[{"op":"remove","path":"/data/key"}]'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.completeKeys(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch := []byte(o.patch)
			if o.file != "" {
				var err error
				if patch, err = input(cmd, o.file); err != nil {
					return err
				}
			}
			patch, err := yaml.YAMLToJSON(patch)
			if err != nil {
				return fmt.Errorf("the patch is neither JSON nor YAML: %w", err)
			}
			return o.write(cmd, func(ctx context.Context, e *admin.Editor) (*admin.Plan, error) {
				return e.Patch(ctx, o.path(args[0]), patch, admin.PatchType(o.kind))
			})
		},
	}
	o.addFlags(cmd)
	cmd.Flags().StringVarP(&o.patch, "patch", "p", "", "the patch")
	cmd.Flags().StringVar(&o.file, "patch-file", "", "file with the patch, or - for standard input")
	cmd.Flags().StringVar(&o.kind, "type", o.kind, "merge or json")
	oneOf(cmd, "type", string(admin.MergePatch), string(admin.JSONPatch))
	cmd.MarkFlagsOneRequired("patch", "patch-file")
	cmd.MarkFlagsMutuallyExclusive("patch", "patch-file")
	return cmd
}

func newEtcdDeleteCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdWriteOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "delete KEY",
		Short: "Delete a key, guarded",
		Long:  `Delete a key. Finalizers are not waited for, and nothing that the object owns is deleted.` + writeLong,
		Example: `  kx etcd delete pods/default/stuck
  kx etcd delete --force example.com/broken`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.completeKeys(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.write(cmd, func(ctx context.Context, e *admin.Editor) (*admin.Plan, error) {
				return e.Delete(ctx, o.path(args[0]))
			})
		},
	}
	o.addFlags(cmd)
	return cmd
}

func newEtcdUndoCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdWriteOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "undo FILE",
		Short: "Undo a put, patch, delete or undo by its undo file",
		Long: `Write what was there before a put, patch, delete or undo, byte by byte as it was stored. It is refused if somebody wrote
the key since, or if the file is of another etcd.`,
		Example: `  kx etcd undo kx-undo-web-20260102T030405.678.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			u, err := admin.ReadUndo(args[0])
			if err != nil {
				return err
			}
			return o.write(cmd, func(ctx context.Context, e *admin.Editor) (*admin.Plan, error) { return e.Undo(ctx, u) })
		},
	}
	o.addFlags(cmd)
	return cmd
}
