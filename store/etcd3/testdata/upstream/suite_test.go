package upstream

import (
	"context"
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	storagetesting "k8s.io/apiserver/pkg/storage/testing"

	"github.com/kx-apiserver/kx/store/etcd3"
)

var (
	errSynthetic = errors.New("synthetic error")
	errCorrupt   = &etcd3.CorruptObjectError{Err: errors.New("bits flipped")}
)

// suite is upstream's storage tests, and what each is run on.
var suite = []struct {
	name  string
	setup setup
	run   func(ctx context.Context, t *testing.T, f *fixture)
}{
	{"Create", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestCreate(ctx, t, f, f.checkStored)
	}},
	{"CreateWithTTL", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestCreateWithTTL(ctx, t, f)
	}},
	{"CreateWithKeyExist", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestCreateWithKeyExist(ctx, t, f)
	}},
	{"Get", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGet(ctx, t, f)
	}},
	{"UnconditionalDelete", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestUnconditionalDelete(ctx, t, f)
	}},
	{"ConditionalDelete", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestConditionalDelete(ctx, t, f)
	}},
	{"DeleteWithSuggestion", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithSuggestion(ctx, t, f)
	}},
	{"DeleteWithSuggestionAndConflict", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithSuggestionAndConflict(ctx, t, f)
	}},
	{"DeleteWithSuggestionOfDeletedObject", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithSuggestionOfDeletedObject(ctx, t, f)
	}},
	{"ValidateDeletionWithSuggestion", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestValidateDeletionWithSuggestion(ctx, t, f)
	}},
	{"ValidateDeletionWithOnlySuggestionValid", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestValidateDeletionWithOnlySuggestionValid(ctx, t, f)
	}},
	{"DeleteWithConflict", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithConflict(ctx, t, f)
	}},
	{"DeleteWithConflictAndMissingExpectedError", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError(ctx, t, f, f.codec.fail.Store)
	}},
	{"DeleteExpectedTransformError", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteExpectedTransformOrDecodeError(ctx, t, f, f.transformer.fail.Store)
	}},
	{"DeleteExpectedDecodeError", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteExpectedTransformOrDecodeError(ctx, t, f, f.codec.fail.Store)
	}},
	{"DeleteWithSuggestionAndMissingExpectedError", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError(ctx, t, f)
	}},
	{"PreconditionalDeleteWithSuggestion", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestPreconditionalDeleteWithSuggestion(ctx, t, f)
	}},
	{"PreconditionalDeleteWithOnlySuggestionPass", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestPreconditionalDeleteWithOnlySuggestionPass(ctx, t, f)
	}},

	{"GuaranteedUpdate", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGuaranteedUpdate(ctx, t, f, f.checkStored)
	}},
	{"GuaranteedUpdateWithTTL", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGuaranteedUpdateWithTTL(ctx, t, f)
	}},
	{"GuaranteedUpdateChecksStoredData", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGuaranteedUpdateChecksStoredData(ctx, t, f)
	}},
	{"GuaranteedUpdateWithConflict", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGuaranteedUpdateWithConflict(ctx, t, f)
	}},
	{"GuaranteedUpdateWithSuggestionAndConflict", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGuaranteedUpdateWithSuggestionAndConflict(ctx, t, f)
	}},
	{"TransformationFailure", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestTransformationFailure(ctx, t, f)
	}},

	{"List", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestList(ctx, t, f, f.compact, false, f.client.Kubernetes.(*storagetesting.KubernetesRecorder))
	}},
	{"ListPaging", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListPaging(ctx, t, f)
	}},
	{"GetListNonRecursive", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGetListNonRecursive(ctx, t, f.increaseRV, f)
	}},
	{"GetListRecursivePrefix", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGetListRecursivePrefix(ctx, t, f)
	}},
	{"KeySchema", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestKeySchema(ctx, t, f)
	}},
	{"GetListWithErrorAggregation", setup{corruptHandling: true}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGetListWithErrorAggregation(ctx, t, f, errCorrupt)
	}},
	{"GetListWithoutErrorAggregation", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		// What a transformer says without WithCorruptObjErrorHandlingTransformer: any error.
		storagetesting.RunTestGetListWithoutErrorAggregation(ctx, t, f, errSynthetic)
	}},
	{"ConsistentList", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestConsistentList(ctx, t, f, f.increaseRV, false, true, false)
	}},
	{"CompactRevision", setup{compactor: true}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestCompactRevision(ctx, t, f, f.increaseRV, f.compact)
	}},
	{"ListContinuation", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListContinuation(ctx, t, f, f.checkCalls)
	}},
	{"ListPaginationRareObject", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListPaginationRareObject(ctx, t, f, f.checkCalls)
	}},
	{"ListContinuationWithFilter", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListContinuationWithFilter(ctx, t, f, f.checkCalls)
	}},
	{"ListInconsistentContinuation", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListInconsistentContinuation(ctx, t, f, f.compact)
	}},
	{"ListResourceVersionMatch", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListResourceVersionMatch(ctx, t, f)
	}},
	{"NamespaceScopedList", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestNamespaceScopedList(ctx, t, f)
	}},
	{"Stats", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestStats(ctx, t, f, f.codec, f.prefixed, false)
	}},
	{"StatsWithSizes", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		if err := f.EnableResourceSizeEstimation(f.keys); err != nil {
			t.Fatal(err)
		}
		storagetesting.RunTestStats(ctx, t, f, f.codec, f.prefixed, true)
	}},

	{"Watch", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatch(ctx, t, f)
	}},
	{"ClusterScopedWatch", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestClusterScopedWatch(ctx, t, f)
	}},
	{"NamespaceScopedWatch", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestNamespaceScopedWatch(ctx, t, f)
	}},
	{"DeleteTriggerWatch", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteTriggerWatch(ctx, t, f)
	}},
	{"WatchFromZero", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchFromZero(ctx, t, f, f.compact)
	}},
	{"WatchFromNonZero", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchFromNonZero(ctx, t, f)
	}},
	{"WatchError", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchError(ctx, t, f)
	}},
	{"WatchWithUnsafeDelete", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchWithUnsafeDelete(ctx, t, f, errCorrupt)
	}},
	{"WatchContextCancel", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchContextCancel(ctx, t, f)
	}},
	{"WatcherTimeout", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatcherTimeout(ctx, t, f)
	}},
	{"WatchDeleteEventObjectHaveLatestRV", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchDeleteEventObjectHaveLatestRV(ctx, t, f)
	}},
	{"WatchInitializationSignal", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchInitializationSignal(ctx, t, f)
	}},
	{"ProgressNotify", setup{client: overGRPC}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunOptionalTestProgressNotify(ctx, t, f, f.increaseRV)
	}},
	{"WatchDispatchBookmarkEvents", setup{client: overGRPC}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchDispatchBookmarkEvents(ctx, t, f, false)
	}},
	{"SendInitialEventsBackwardCompatibility", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunSendInitialEventsBackwardCompatibility(ctx, t, f)
	}},
	{"WatchSemantics", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunWatchSemantics(ctx, t, f)
	}},
	{"WatchSemanticInitialEventsExtended", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunWatchSemanticInitialEventsExtended(ctx, t, f)
	}},
	{"WatchListMatchSingle", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunWatchListMatchSingle(ctx, t, f)
	}},
	{"WatchErrorIsBlockingFurtherEvents", setup{}, func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunWatchErrorIsBlockingFurtherEvents(ctx, t, f)
	}},
}

// notForThisStorage are upstream's tests that ask for what only a watch cache has, and why.
var notForThisStorage = map[string]string{
	"RunTestDelayedWatchDelivery":                             "it wants ten events after Stop; kx keeps no decoded events that a watcher does not take, since many such watchers would hold gigabytes",
	"RunTestOptionalWatchBookmarksWithCorrectResourceVersion": "bookmarks by themselves come from a watch cache; upstream's etcd3 is not run on it either",
}

func TestInProcess(t *testing.T) {
	for _, test := range suite {
		if test.setup.client == nil {
			t.Run(test.name, func(t *testing.T) {
				test.run(context.Background(), t, newFixture(t, test.setup))
			})
		}
	}
}

// TestOverGRPC runs the same on an etcd that is spoken to through a socket, where errors and events take another way.
func TestOverGRPC(t *testing.T) {
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) {
			test.setup.client = overGRPC
			test.run(context.Background(), t, newFixture(t, test.setup))
		})
	}
}

// TestNothingIsLeftOut fails when upstream has a test that is not in the suite.
func TestNothingIsLeftOut(t *testing.T) {
	pkg, err := build.Import("k8s.io/apiserver/pkg/storage/testing", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	inspect(t, ".", func(file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				called[sel.Sel.Name] = true
			}
			return true
		})
	})
	found := 0
	inspect(t, pkg.Dir, func(file *ast.File) {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Run") || strings.HasPrefix(f.Name.Name, "RunBenchmark") {
				continue
			}
			found++
			if _, excused := notForThisStorage[f.Name.Name]; !called[f.Name.Name] && !excused {
				t.Errorf("%s is not in the suite", f.Name.Name)
			}
		}
	})
	if found < 50 {
		t.Errorf("%d tests were found in %s: has upstream moved them?", found, pkg.Dir)
	}
}

func inspect(t *testing.T, dir string, visit func(*ast.File)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
