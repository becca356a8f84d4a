package server_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server"
)

// articleChain is one call chain of the articles, and the golden journey that shows it.
type articleChain struct {
	title string
	// file is one of server/testdata/transcripts, and request the first line of what it sends.
	file, request string
	rows          []articleRow
}

// articleRow is one function or type of an article, and the step that is it here. Several rows may be one step.
type articleRow struct {
	symbol string
	step   trace.ID
}

// article is what one article has.
type article struct {
	title  string
	chains []articleChain
}

const (
	getMap    = "GET /api/v1/namespaces/default/configmaps/app"
	getCustom = "GET /apis/stable.example.com/v1/namespaces/default/crontabs/app"
)

const getterWithOptions = "`storage.(rest.GetterWithOptions)`, `restfulGetResourceWithOptions`"

// elsewhere are rows whose name means a step that the journey of their chain takes, but not for this reason: another journey of the
// same file does.
var elsewhere = map[string]struct{ request, reason string }{
	getterWithOptions: {"pods.v1", "a rest.GetterWithOptions"},
}

var articles = []article{
	{"How custom resources are served", []articleChain{
		{"A custom resource is read", "custom.txt", getCustom, []articleRow{
			{"`NonGoRestfulMux.HandlePrefix(\"/apis/\", crdHandler)`", trace.HandlerRoute},
			{"`crdHandler.ServeHTTP`, `crdLister.Get`", trace.CRDServe},
			{"`getOrCreateServingInfoFor`", trace.CRDInfo},
			{"`serveResource`", trace.CRDServeResource},
			{"`handlers.GetResource`, `getResourceHandler`", trace.HandlerGet},
			{"`Getter.Get`", trace.RESTGet},
			{"`CustomResourceStorage.CustomResource`, `REST.Get`", trace.CustomGet},
			{"`Store.KeyFunc`", trace.StoreKey},
			{"`Store.Get`", trace.StoreGet},
			{"`DryRunnableStorage.Get`", trace.DryRunGet},
			{"`storage.Interface.Get`", trace.CacherGet},
			{"`metrics.InstrumentHandlerFunc`", trace.HandlerMetrics},
		}},
		{"A custom resource is created", "custom.txt", "POST /apis/stable.example.com/v1/namespaces/default/crontabs", []articleRow{
			{"`crdHandler.ServeHTTP`", trace.CRDServe},
			{"`getOrCreateServingInfoFor`", trace.CRDInfo},
			{"`serveResource`", trace.CRDServeResource},
			{"`handlers.CreateResource`", trace.HandlerCreate},
			{"`REST.Create`", trace.RESTCreate},
			{"`Store.Create`", trace.StoreCreate},
			{"`DryRunnableStorage.Create`", trace.DryRunCreate},
			{"`storage.Interface.Create`", trace.Etcd3Create},
		}},
		{"Its status", "custom.txt", getCustom + "/status", []articleRow{
			{"`serveStatus`", trace.CRDServeStatus},
			{"`CustomResourceStorage.Status`, `StatusREST.Get`", trace.CustomStatusGet},
			{"`Store.Get`", trace.StoreGet},
		}},
		{"An update of its status", "custom.txt", "PATCH" + strings.TrimPrefix(getCustom, "GET") + "/status", []articleRow{
			{"`serveStatus`", trace.CRDServeStatus},
			{"`StatusREST.Update`", trace.CustomStatusUpdate},
			{"`Store.Update`", trace.StoreUpdate},
		}},
		{"Its scale", "custom.txt", getCustom + "/scale", []articleRow{
			{"`serveScale`", trace.CRDServeScale},
			{"`CustomResourceStorage.Scale`, `ScaleREST.Get`", trace.CustomScaleGet},
			{"`Store.Get`", trace.StoreGet},
		}},
		{"An update of its scale", "custom.txt", "PATCH" + strings.TrimPrefix(getCustom, "GET") + "/scale", []articleRow{
			{"`serveScale`", trace.CRDServeScale},
			{"`ScaleREST.Update`", trace.CustomScaleUpdate},
			{"`Store.Update`", trace.StoreUpdate},
		}},
		{"A subresource that it does not have", "custom.txt", getCustom + "/other", []articleRow{
			{"`default: apierrors.NewNotFound`", trace.CRDServe},
		}},
		{"A verb that it does not have", "custom.txt", "DELETE" + strings.TrimPrefix(getCustom, "GET") + "/status", []articleRow{
			{"`serveStatus`", trace.CRDServeStatus},
			{"`default: apierrors.NewMethodNotSupported`", trace.HandlerMethodNotSupported},
		}},
		{"No such definition", "delegation.txt", "GET /apis/example.com/v1/namespaces/default/lamps/one", []articleRow{
			{"`crdLister.Get`", trace.CRDServe},
			{"`r.delegate.ServeHTTP`", trace.HandlerNotFound},
		}},
		{"The storage without a cache", "uncached.txt", getMap, []articleRow{
			{"`store.Get` of etcd3", trace.Etcd3Get},
			{"`client.KV.Get`", trace.EtcdGet},
			{"`metrics.RecordEtcdRequestLatency`", trace.Etcd3Metrics},
			{"`transformer.TransformFromStorage`", trace.TransformFromStorage},
		}},
		{"What is read to be changed is decoded", "finalizers.txt", "DELETE /api/v1/namespaces/default/configmaps/app", []articleRow{
			{"`store.Get` of etcd3", trace.Etcd3Get},
			{"`transformer.TransformFromStorage`", trace.TransformFromStorage},
			{"`decode`", trace.Etcd3Decode},
		}},
		{"Nothing is stored", "uncached.txt", "GET /api/v1/namespaces/default/configmaps/absent", []articleRow{
			{"`store.Get` of etcd3", trace.Etcd3Get},
			{"`storage.NewKeyNotFoundError`", trace.Etcd3NotFound},
			{"`storeerr.InterpretGetError`", trace.StoreInterpretError},
		}},
		{"Nothing is stored, and that is tolerated", "apply.txt", "PATCH /api/v1/namespaces/default/configmaps/app?fieldManager=ann", []articleRow{
			{"`opts.IgnoreNotFound`", trace.Etcd3NotFound},
		}},
		{"etcd is older than what was asked for", "uncached.txt", getMap + "?resourceVersion={r+1000}", []articleRow{
			{"`validateMinimumResourceVersion`", trace.Etcd3Get},
		}},
		{"The Decorator", "hooks.txt", "GET /api/v1/namespaces/default/persistentvolumeclaims/app", []articleRow{
			{"`Store.Get`", trace.StoreGet},
			{"`e.Decorator`", trace.StoreDecorate},
		}},
		{"How its storage was made", "install.txt", "crontabs.v1.stable.example.com", []articleRow{
			{"`getOrCreateServingInfoFor`", trace.InstallDefinition},
			{"`Store.CompleteWithOptions`", trace.StorageComplete},
			{"`newETCD3Storage`, which calls `etcd3.New`, `newStore` (`New` in store/etcd3/store.go)", trace.StorageEtcd3},
		}},
	}},
	{"From the REST storage to etcd", []articleChain{
		{"How the storage of deployments was made", "install.txt", "deployments.v1.apps", []articleRow{
			{"`NewStorage`, `NewREST`", trace.InstallProvider},
			{"`Store.CompleteWithOptions`", trace.StorageComplete},
			{"`SimpleRestOptionsFactory.GetRESTOptions`", trace.StorageOptions},
			{"`StorageWithCacher`", trace.StorageCacher},
			{"`NewRawStorage`", trace.StorageRaw},
			{"`factory.Create`", trace.StorageFactory},
			{"`newETCD3Storage`", trace.StorageEtcd3},
		}},
		{"A storage without a cache is made", "install.txt", "configmaps.v1", []articleRow{
			{"`SimpleRestOptionsFactory.GetRESTOptions`", trace.StorageOptions},
			{"`UndecoratedStorage`", trace.StorageUndecorated},
			{"`NewRawStorage`", trace.StorageRaw},
		}},
		{"`StatusREST` is a Store with another strategy", "subresources.txt", "GET /api/v1/namespaces/default/pods/app/status", []articleRow{
			{"`StatusREST.Get`", trace.StatusGet},
			{"`r.store.Get`", trace.StoreGet},
		}},
		{"An update through it", "subresources.txt", "PATCH /api/v1/namespaces/default/pods/app/status", []articleRow{
			{"`StatusREST.Update`", trace.StatusUpdate},
			{"`Store.Update`", trace.StoreUpdate},
			{"`UpdateStrategy: deployment.StatusStrategy`", trace.StorePrepare},
		}},
		{"`ScaleREST` reads", "subresources.txt", "GET /apis/apps/v1/namespaces/default/deployments/app/scale", []articleRow{
			{"`ScaleREST.Get`", trace.ScaleGet},
			{"`Store.Get`", trace.StoreGet},
		}},
		{"`ScaleREST` updates", "subresources.txt", "PUT /apis/apps/v1/namespaces/default/deployments/app/scale", []articleRow{
			{"`ScaleREST.Update`", trace.ScaleUpdate},
			{"`Store.Update`", trace.StoreUpdate},
		}},
		{"`RollbackREST`, which old versions of apps have", "versions.txt", "POST /apis/apps/v1beta1/namespaces/default/deployments/app/rollback", []articleRow{
			{"`RollbackREST.Create`", trace.RollbackCreate},
			{"`Storage.GuaranteedUpdate`", trace.DryRunUpdate},
		}},
		{"Before a create", "create.txt", "POST /api/v1/namespaces/default/configmaps", []articleRow{
			{"`Store.Create`", trace.StoreCreate},
			{"`BeforeCreate`", trace.StoreBeforeCreate},
			{"`CreateStrategy.PrepareForCreate`", trace.StorePrepare},
			{"`Store.KeyFunc`", trace.StoreKey},
			{"`DryRunnableStorage.Create`", trace.DryRunCreate},
			{"`storage.Interface.Create`", trace.Etcd3Create},
		}},
		{"Hooks before and after", "hooks.txt", "POST /api/v1/namespaces/default/services", []articleRow{
			{"`BeginCreate`", trace.StoreBegin},
			{"`BeforeCreate`", trace.StoreBeforeCreate},
		}},
		{"After a delete", "hooks.txt", "DELETE /api/v1/namespaces/default/services/app", []articleRow{
			{"`storage.Interface.Delete`", trace.DryRunDelete},
			{"`UnderlyingStorage`: `Delete` of etcd3", trace.Etcd3Delete},
			{"`AfterDelete`", trace.StoreAfter},
		}},
		{"`storage.Interface`: `GuaranteedUpdate`", "update.txt", "PUT /api/v1/namespaces/default/configmaps/app", []articleRow{
			{"`DryRunnableStorage.GuaranteedUpdate`", trace.DryRunUpdate},
			{"`CacherStorage`: `GuaranteedUpdate`", trace.CacherUpdate},
			{"`UnderlyingStorage`: `GuaranteedUpdate` of etcd3", trace.Etcd3Update},
			{"`tryUpdate`", trace.StoreTryUpdate},
		}},
		{"`storage.Interface`: `List`", "list.txt", "GET /api/v1/namespaces/default/configmaps", []articleRow{
			{"`DryRunnableStorage.GetList`", trace.DryRunList},
			{"`CacherStorage`: `List`", trace.CacherList},
		}},
		{"`storage.Interface`: `GetToList`", "list.txt", "GET /api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Done", []articleRow{
			{"`GetToList`", trace.StoreList},
			{"`CacherStorage`: `GetToList`", trace.CacherList},
		}},
		{"`storage.Interface`: `WatchList`", "watch.txt", "", []articleRow{
			{"`DryRunnableStorage.Watch`", trace.DryRunWatch},
			{"`CacherStorage`: `Watch`", trace.CacherWatch},
		}},
		{"`Cacher.Get` without a resourceVersion", "get.txt", getMap, []articleRow{
			{"`Cacher.Get`", trace.CacherGet},
			{"`c.storage.Get`: etcd is asked", trace.EtcdKeyRevision},
		}},
		{"`Cacher.Get` with one", "get.txt", getMap + "?resourceVersion={r+1000}", []articleRow{
			{"`Cacher.Get`", trace.CacherGet},
			{"`watchCache.WaitUntilFreshAndGet`", trace.CacherWait},
		}},
		{"Objects with a time to live", "events.txt", "POST /api/v1/namespaces/default/events", []articleRow{
			{"`Create(…, ttl)`", trace.Etcd3Create},
			{"`leaseManager.GetLease`", trace.Etcd3Lease},
			{"`client.Grant`", trace.EtcdLease},
		}},
	}},
	{"How a handler is registered, and what it does", []articleChain{
		{"The registration", "install.txt", "deployments.v1.apps", []articleRow{
			{"`CreateServerChain`, `CreateKubeAPIServer`, `completedConfig.New`, `InstallAPIs`", trace.InstallAPIs},
			{"`restStorageProviders`, `APIGroupInfo`, `VersionedResourcesStorageMap`", trace.InstallProvider},
			{"`InstallAPIGroups`", trace.InstallGroups},
			{"`installAPIResources`", trace.InstallResources},
			{"`apiGroupVersion.InstallREST`, `installer.Install`", trace.InstallVersion},
			{"`registerResourceHandlers`", trace.InstallHandlers},
			{getterWithOptions, trace.InstallVerb},
		}},
		{"The servers, one after the other", "delegation.txt", "GET /nothing/here", []articleRow{
			{"`kubeAPIServer`, `GoRestfulContainer`", trace.HandlerRoute},
			{"`apiExtensionsServer.GenericAPIServer`", trace.HandlerRoute},
			{"`crdHandler`", trace.CRDServe},
			{"the `delegationTarget` of the last one", trace.HandlerNotFound},
		}},
		{"`getResourceHandler`", "get.txt", getMap, []articleRow{
			{"`handlers.GetResource`, `getResourceHandler`", trace.HandlerGet},
			{"`scope.Namer.Name`", trace.HandlerNamer},
			{"`negotiation.NegotiateOutputMediaType`", trace.HandlerMediaType},
			{"`getter`: About to process Get options", trace.HandlerOptions},
			{"`r.Get`: About to Get from storage", trace.RESTGet},
			{"`transformResponseObject`: About to write a response", trace.HandlerEncode},
			{"`doTransformObject`: Transformed response object", trace.HandlerTransform},
		}},
		{"`GetResourceWithOptions`", "nodes.txt", "GET /api/v1/namespaces/default/pods/app/log", []articleRow{
			{"`handlers.GetResourceWithOptions`", trace.HandlerGet},
			{"`getRequestOptions`", trace.HandlerOptions},
			{"`GetterWithOptions.Get`", trace.RESTGet},
		}},
		{"A table, as kubectl asks for it", "get.txt", "GET /api/v1/namespaces/default/configmaps/app\nAccept: application/json;as=Table;v=v1;g=meta.k8s.io", []articleRow{
			{"`NegotiateOutputMediaType`", trace.HandlerMediaType},
			{"`doTransformObject`", trace.HandlerTransform},
			{"`asTable`, `TableConvertor`", trace.HandlerTable},
		}},
		{"Nobody has the name", "get.txt", "GET /api/v1/namespaces/default/configmaps/absent", []articleRow{
			{"`Store.Get`", trace.StoreGet},
			{"`storeerr.InterpretGetError`", trace.StoreInterpretError},
		}},
		{"`create.go`", "create.txt", "POST /api/v1/namespaces/default/configmaps", []articleRow{
			{"`createHandler`", trace.HandlerCreate},
			{"`scope.Namer.Namespace`", trace.HandlerNamer},
			{"`DecodeParameters` of `CreateOptions`", trace.HandlerOptions},
			{"`decoder.Decode`", trace.HandlerDecode},
			{"`r.Create`", trace.RESTCreate},
			{"`transformResponseObject`", trace.HandlerEncode},
		}},
		{"`delete.go`", "delete.txt", "DELETE /api/v1/namespaces/default/configmaps/a", []articleRow{
			{"`DeleteResource`", trace.HandlerDelete},
			{"`DecodeParameters` of `DeleteOptions`", trace.HandlerOptions},
			{"`r.Delete`", trace.RESTDelete},
		}},
		{"An object of a collection is gone meanwhile", "conflict.txt", "DELETE /api/v1/namespaces/default/configmaps?labelSelector=color%3Dred", []articleRow{
			{"`DeleteCollection`", trace.HandlerDeleteCollection},
			{"`Store.DeleteCollection`", trace.StoreDeleteCollection},
			{"`storage.NewKeyNotFoundError`", trace.Etcd3NotFound},
			{"`InterpretDeleteError`", trace.StoreInterpretError},
		}},
	}},
}

const articlesFile = "../docs/articles.md"

const articlesHead = `# The chains of the articles

Three articles describe the Kubernetes API server by its call chains: how custom resources are served, what lies between the
REST storage and etcd, and how a handler is registered ([in Chinese](articles.zh.md)). Below, each article's paragraphs are told again in a
table: what its release did, what Kubernetes 1.37 does, where that is in kx, and how to see it. Each of the other tables is one of their chains. A row has the function or type
that the article names, the step that is it in a journey, the function and file of kx that take the step, and the reason that
the golden journey gives. The golden journey is a request of a transcript in server/testdata/transcripts, or the installation of
a resource.

` + "`step:`" + ` in a filter finds the journeys that took a step, such as ` + "`kx trace ls step:store.key`" + ` (docs/filter.md). A fine step is a
detail of its caller: the screen, the prompt and stories show details together. ` + "`kx trace steps NAME`" + ` finds the step of each name in
these tables. The name of a function alone is a filter too: ` + "`kx trace ls getOrCreateServingInfoFor`" + `.

The chain of servers begins with the aggregator, which takes a step only where an APIService leaves the request to another server:
aggregated.txt shows that. So the chains here begin with the kube server. AfterCreate and
AfterUpdate take the step of AfterDelete, but no resource of kx has such a hook; the attribute ` + "`hooks`" + ` of a write says which there
are. Which type of storage answers, and the function by which it does, is the attribute ` + "`storage`" + ` of the steps of the REST layer:
most types embed the Store and have its functions.

A test makes this document: ` + "`go test ./server -run TestArticles -rewrite`" + `.
`

// TestArticles makes articles.md of the table above, of the places in the code where steps are taken, and of the golden journeys.
// It fails if a golden journey does not take the steps of its chain in their order.
func TestArticles(t *testing.T) {
	sites := sitesOf(t)
	var doc strings.Builder
	doc.WriteString(articlesHead)
	lessons := lessonFiles(t, lang.English)
	for i, p := range articles {
		fmt.Fprintf(&doc, "\n## %s\n", p.title)
		paragraphs[i].write(t, &doc, lang.English, sites, lessons)
		for _, c := range p.chains {
			c.write(t, &doc, sites)
		}
	}
	rewrite := flag.Lookup("rewrite").Value.String() == "true"
	sameAs(t, articlesFile, doc.String(), rewrite)
	sameAs(t, strings.Replace(articlesFile, ".md", ".zh.md", 1), chineseArticles(t, sites), rewrite)
}

func (c *articleChain) write(t *testing.T, doc *strings.Builder, sites map[trace.ID]takenAt) {
	journey := goldenJourney(t, c.file, c.request)
	shown, _, _ := strings.Cut(c.request, "\n")
	if shown == "" {
		shown = "the first watch"
	}
	fmt.Fprintf(doc, "\n### %s\n\nserver/testdata/transcripts/%s: `%s`\n\n", c.title, c.file, shown)
	doc.WriteString("| in the article | step | function | file | why |\n| --- | --- | --- | --- | --- |\n")
	for _, row := range c.rows {
		i := slices.IndexFunc(journey, func(s goldenStep) bool { return s.step == row.step.String() })
		if i < 0 {
			t.Errorf("%s: %s does not take %s there: it is not in the journey of %q, or before the row above", c.title, c.file, row.step, c.request)
			continue
		}
		at := sites[row.step]
		if !strings.Contains(journey[i].function, at.function) {
			t.Errorf("%s: %s is taken by %s, and the transcript says %s", c.title, row.step, at.function, journey[i].function)
		}
		why := journey[i].why
		if there, ok := elsewhere[row.symbol]; ok {
			why = reasonIn(t, goldenJourney(t, c.file, there.request), row.step, there.reason)
		}
		fmt.Fprintf(doc, "| %s | `%s` | `%s` | %s | %s |\n", row.symbol, row.step, at.function, at.file, strings.ReplaceAll(why, "|", `\|`))
		if i+1 < len(journey) {
			journey = journey[i+1:]
		}
	}
}

// reasonIn is the reason of the step that has some text in it.
func reasonIn(t *testing.T, journey []goldenStep, step trace.ID, text string) string {
	t.Helper()
	for _, s := range journey {
		if s.step == step.String() && strings.Contains(s.why, text) {
			return s.why
		}
	}
	t.Errorf("no %s has %q in its reason", step, text)
	return ""
}

// goldenStep is a step of a golden journey.
type goldenStep struct{ step, function, why string }

var (
	goldenCommand  = regexp.MustCompile(`^(?:request|watch|race|install)(?: (.*))?$`)
	goldenStepLine = regexp.MustCompile(`^ *([a-z0-9]+\.[a-z0-9-]+)  (\S+)`)
	goldenWhyLine  = regexp.MustCompile(`^ *\| why: (.*)$`)
)

// goldenJourney reads the journey of a request, or of an installation, from a transcript. An empty request is the first one.
func goldenJourney(t *testing.T, file, request string) (steps []goldenStep) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(transcripts, file))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		m := goldenCommand.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		end := i + slices.Index(lines[i:], "----")
		input := strings.Join(lines[i+1:end], "\n") + "\n"
		if strings.HasPrefix(line, "install ") {
			input = m[1] + "\n"
		}
		if request != "" && !strings.HasPrefix(input, request+"\n") {
			continue
		}
		for _, line := range lines[end+1:] {
			if line == "" {
				return steps
			}
			if m := goldenStepLine.FindStringSubmatch(line); m != nil {
				steps = append(steps, goldenStep{step: m[1], function: m[2]})
			} else if m := goldenWhyLine.FindStringSubmatch(line); m != nil && len(steps) > 0 {
				steps[len(steps)-1].why = m[1]
			}
		}
		return steps
	}
	t.Errorf("%s has no request %q", file, request)
	return nil
}

// takenAt is where the code takes a step.
type takenAt struct{ function, file string }

// sitesOf finds the function that takes each step.
func sitesOf(t *testing.T) map[trace.ID]takenAt {
	t.Helper()
	all, err := steps.All(server.Source(), lang.English)
	if err != nil {
		t.Fatal(err)
	}
	sites := map[trace.ID]takenAt{}
	for _, s := range all {
		id, _ := trace.Lookup(s.ID)
		_, function, _ := strings.Cut(path.Base(s.Function), ".")
		sites[id] = takenAt{function, s.File}
	}
	return sites
}
