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
	"github.com/kx-apiserver/kx/core/sites"
	"github.com/kx-apiserver/kx/core/steps"
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
	step   steps.ID
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
			{"`NonGoRestfulMux.HandlePrefix(\"/apis/\", crdHandler)`", steps.HandlerRoute},
			{"`crdHandler.ServeHTTP`, `crdLister.Get`", steps.CRDServe},
			{"`getOrCreateServingInfoFor`", steps.CRDInfo},
			{"`serveResource`", steps.CRDServeResource},
			{"`handlers.GetResource`, `getResourceHandler`", steps.HandlerGet},
			{"`Getter.Get`", steps.RESTGet},
			{"`CustomResourceStorage.CustomResource`, `REST.Get`", steps.CustomGet},
			{"`Store.KeyFunc`", steps.StoreKey},
			{"`Store.Get`", steps.StoreGet},
			{"`DryRunnableStorage.Get`", steps.DryRunGet},
			{"`storage.Interface.Get`", steps.CacherGet},
			{"`metrics.InstrumentHandlerFunc`", steps.HandlerMetrics},
		}},
		{"A custom resource is created", "custom.txt", "POST /apis/stable.example.com/v1/namespaces/default/crontabs", []articleRow{
			{"`crdHandler.ServeHTTP`", steps.CRDServe},
			{"`getOrCreateServingInfoFor`", steps.CRDInfo},
			{"`serveResource`", steps.CRDServeResource},
			{"`handlers.CreateResource`", steps.HandlerCreate},
			{"`REST.Create`", steps.RESTCreate},
			{"`Store.Create`", steps.StoreCreate},
			{"`DryRunnableStorage.Create`", steps.DryRunCreate},
			{"`storage.Interface.Create`", steps.Etcd3Create},
		}},
		{"Its status", "custom.txt", getCustom + "/status", []articleRow{
			{"`serveStatus`", steps.CRDServeStatus},
			{"`CustomResourceStorage.Status`, `StatusREST.Get`", steps.CustomStatusGet},
			{"`Store.Get`", steps.StoreGet},
		}},
		{"An update of its status", "custom.txt", "PATCH" + strings.TrimPrefix(getCustom, "GET") + "/status", []articleRow{
			{"`serveStatus`", steps.CRDServeStatus},
			{"`StatusREST.Update`", steps.CustomStatusUpdate},
			{"`Store.Update`", steps.StoreUpdate},
		}},
		{"Its scale", "custom.txt", getCustom + "/scale", []articleRow{
			{"`serveScale`", steps.CRDServeScale},
			{"`CustomResourceStorage.Scale`, `ScaleREST.Get`", steps.CustomScaleGet},
			{"`Store.Get`", steps.StoreGet},
		}},
		{"An update of its scale", "custom.txt", "PATCH" + strings.TrimPrefix(getCustom, "GET") + "/scale", []articleRow{
			{"`serveScale`", steps.CRDServeScale},
			{"`ScaleREST.Update`", steps.CustomScaleUpdate},
			{"`Store.Update`", steps.StoreUpdate},
		}},
		{"A subresource that it does not have", "custom.txt", getCustom + "/other", []articleRow{
			{"`default: apierrors.NewNotFound`", steps.CRDServe},
		}},
		{"A verb that it does not have", "custom.txt", "DELETE" + strings.TrimPrefix(getCustom, "GET") + "/status", []articleRow{
			{"`serveStatus`", steps.CRDServeStatus},
			{"`default: apierrors.NewMethodNotSupported`", steps.HandlerMethodNotSupported},
		}},
		{"No such definition", "delegation.txt", "GET /apis/example.com/v1/namespaces/default/lamps/one", []articleRow{
			{"`crdLister.Get`", steps.CRDServe},
			{"`r.delegate.ServeHTTP`", steps.HandlerNotFound},
		}},
		{"The storage without a cache", "uncached.txt", getMap, []articleRow{
			{"`store.Get` of etcd3", steps.Etcd3Get},
			{"`client.KV.Get`", steps.EtcdGet},
			{"`metrics.RecordEtcdRequestLatency`", steps.Etcd3Metrics},
			{"`transformer.TransformFromStorage`", steps.TransformFromStorage},
		}},
		{"What is read to be changed is decoded", "finalizers.txt", "DELETE /api/v1/namespaces/default/configmaps/app", []articleRow{
			{"`store.Get` of etcd3", steps.Etcd3Get},
			{"`transformer.TransformFromStorage`", steps.TransformFromStorage},
			{"`decode`", steps.Etcd3Decode},
		}},
		{"Nothing is stored", "uncached.txt", "GET /api/v1/namespaces/default/configmaps/absent", []articleRow{
			{"`store.Get` of etcd3", steps.Etcd3Get},
			{"`storage.NewKeyNotFoundError`", steps.Etcd3NotFound},
			{"`storeerr.InterpretGetError`", steps.StoreInterpretError},
		}},
		{"Nothing is stored, and that is tolerated", "apply.txt", "PATCH /api/v1/namespaces/default/configmaps/app?fieldManager=ann", []articleRow{
			{"`opts.IgnoreNotFound`", steps.Etcd3NotFound},
		}},
		{"etcd is older than what was asked for", "uncached.txt", getMap + "?resourceVersion={r+1000}", []articleRow{
			{"`validateMinimumResourceVersion`", steps.Etcd3Get},
		}},
		{"The Decorator", "hooks.txt", "GET /api/v1/namespaces/default/persistentvolumeclaims/app", []articleRow{
			{"`Store.Get`", steps.StoreGet},
			{"`e.Decorator`", steps.StoreDecorate},
		}},
		{"How its storage was made", "install.txt", "crontabs.v1.stable.example.com", []articleRow{
			{"`getOrCreateServingInfoFor`", steps.InstallDefinition},
			{"`Store.CompleteWithOptions`", steps.StorageComplete},
			{"`newETCD3Storage`, which calls `etcd3.New`, `newStore` (`New` in store/etcd3/store.go)", steps.StorageEtcd3},
		}},
	}},
	{"From the REST storage to etcd", []articleChain{
		{"How the storage of deployments was made", "install.txt", "deployments.v1.apps", []articleRow{
			{"`NewStorage`, `NewREST`", steps.InstallProvider},
			{"`Store.CompleteWithOptions`", steps.StorageComplete},
			{"`SimpleRestOptionsFactory.GetRESTOptions`", steps.StorageOptions},
			{"`StorageWithCacher`", steps.StorageCacher},
			{"`NewRawStorage`", steps.StorageRaw},
			{"`factory.Create`", steps.StorageFactory},
			{"`newETCD3Storage`", steps.StorageEtcd3},
		}},
		{"A storage without a cache is made", "install.txt", "configmaps.v1", []articleRow{
			{"`SimpleRestOptionsFactory.GetRESTOptions`", steps.StorageOptions},
			{"`UndecoratedStorage`", steps.StorageUndecorated},
			{"`NewRawStorage`", steps.StorageRaw},
		}},
		{"`StatusREST` is a Store with another strategy", "subresources.txt", "GET /api/v1/namespaces/default/pods/app/status", []articleRow{
			{"`StatusREST.Get`", steps.StatusGet},
			{"`r.store.Get`", steps.StoreGet},
		}},
		{"An update through it", "subresources.txt", "PATCH /api/v1/namespaces/default/pods/app/status", []articleRow{
			{"`StatusREST.Update`", steps.StatusUpdate},
			{"`Store.Update`", steps.StoreUpdate},
			{"`UpdateStrategy: deployment.StatusStrategy`", steps.StorePrepare},
		}},
		{"`ScaleREST` reads", "subresources.txt", "GET /apis/apps/v1/namespaces/default/deployments/app/scale", []articleRow{
			{"`ScaleREST.Get`", steps.ScaleGet},
			{"`Store.Get`", steps.StoreGet},
		}},
		{"`ScaleREST` updates", "subresources.txt", "PUT /apis/apps/v1/namespaces/default/deployments/app/scale", []articleRow{
			{"`ScaleREST.Update`", steps.ScaleUpdate},
			{"`Store.Update`", steps.StoreUpdate},
		}},
		{"`RollbackREST`, which old versions of apps have", "versions.txt", "POST /apis/apps/v1beta1/namespaces/default/deployments/app/rollback", []articleRow{
			{"`RollbackREST.Create`", steps.RollbackCreate},
			{"`Storage.GuaranteedUpdate`", steps.DryRunUpdate},
		}},
		{"Before a create", "create.txt", "POST /api/v1/namespaces/default/configmaps", []articleRow{
			{"`Store.Create`", steps.StoreCreate},
			{"`BeforeCreate`", steps.StoreBeforeCreate},
			{"`CreateStrategy.PrepareForCreate`", steps.StorePrepare},
			{"`Store.KeyFunc`", steps.StoreKey},
			{"`DryRunnableStorage.Create`", steps.DryRunCreate},
			{"`storage.Interface.Create`", steps.Etcd3Create},
		}},
		{"Hooks before and after", "hooks.txt", "POST /api/v1/namespaces/default/services", []articleRow{
			{"`BeginCreate`", steps.StoreBegin},
			{"`BeforeCreate`", steps.StoreBeforeCreate},
		}},
		{"After a delete", "hooks.txt", "DELETE /api/v1/namespaces/default/services/app", []articleRow{
			{"`storage.Interface.Delete`", steps.DryRunDelete},
			{"`UnderlyingStorage`: `Delete` of etcd3", steps.Etcd3Delete},
			{"`AfterDelete`", steps.StoreAfter},
		}},
		{"`storage.Interface`: `GuaranteedUpdate`", "update.txt", "PUT /api/v1/namespaces/default/configmaps/app", []articleRow{
			{"`DryRunnableStorage.GuaranteedUpdate`", steps.DryRunUpdate},
			{"`CacherStorage`: `GuaranteedUpdate`", steps.CacherUpdate},
			{"`UnderlyingStorage`: `GuaranteedUpdate` of etcd3", steps.Etcd3Update},
			{"`tryUpdate`", steps.StoreTryUpdate},
		}},
		{"`storage.Interface`: `List`", "list.txt", "GET /api/v1/namespaces/default/configmaps", []articleRow{
			{"`DryRunnableStorage.GetList`", steps.DryRunList},
			{"`CacherStorage`: `List`", steps.CacherList},
		}},
		{"`storage.Interface`: `GetToList`", "list.txt", "GET /api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Done", []articleRow{
			{"`GetToList`", steps.StoreList},
			{"`CacherStorage`: `GetToList`", steps.CacherList},
		}},
		{"`storage.Interface`: `WatchList`", "watch.txt", "", []articleRow{
			{"`DryRunnableStorage.Watch`", steps.DryRunWatch},
			{"`CacherStorage`: `Watch`", steps.CacherWatch},
		}},
		{"`Cacher.Get` without a resourceVersion", "get.txt", getMap, []articleRow{
			{"`Cacher.Get`", steps.CacherGet},
			{"`c.storage.Get`: etcd is asked", steps.EtcdKeyRevision},
		}},
		{"`Cacher.Get` with one", "get.txt", getMap + "?resourceVersion={r+1000}", []articleRow{
			{"`Cacher.Get`", steps.CacherGet},
			{"`watchCache.WaitUntilFreshAndGet`", steps.CacherWait},
		}},
		{"Objects with a time to live", "events.txt", "POST /api/v1/namespaces/default/events", []articleRow{
			{"`Create(…, ttl)`", steps.Etcd3Create},
			{"`leaseManager.GetLease`", steps.Etcd3Lease},
			{"`client.Grant`", steps.EtcdLease},
		}},
	}},
	{"How a handler is registered, and what it does", []articleChain{
		{"The registration", "install.txt", "deployments.v1.apps", []articleRow{
			{"`CreateServerChain`, `CreateKubeAPIServer`, `completedConfig.New`, `InstallAPIs`", steps.InstallAPIs},
			{"`restStorageProviders`, `APIGroupInfo`, `VersionedResourcesStorageMap`", steps.InstallProvider},
			{"`InstallAPIGroups`", steps.InstallGroups},
			{"`installAPIResources`", steps.InstallResources},
			{"`apiGroupVersion.InstallREST`, `installer.Install`", steps.InstallVersion},
			{"`registerResourceHandlers`", steps.InstallHandlers},
			{getterWithOptions, steps.InstallVerb},
		}},
		{"The servers, one after the other", "delegation.txt", "GET /nothing/here", []articleRow{
			{"`kubeAPIServer`, `GoRestfulContainer`", steps.HandlerRoute},
			{"`apiExtensionsServer.GenericAPIServer`", steps.HandlerRoute},
			{"`crdHandler`", steps.CRDServe},
			{"the `delegationTarget` of the last one", steps.HandlerNotFound},
		}},
		{"`getResourceHandler`", "get.txt", getMap, []articleRow{
			{"`handlers.GetResource`, `getResourceHandler`", steps.HandlerGet},
			{"`scope.Namer.Name`", steps.HandlerNamer},
			{"`negotiation.NegotiateOutputMediaType`", steps.HandlerMediaType},
			{"`getter`: About to process Get options", steps.HandlerOptions},
			{"`r.Get`: About to Get from storage", steps.RESTGet},
			{"`transformResponseObject`: About to write a response", steps.HandlerEncode},
			{"`doTransformObject`: Transformed response object", steps.HandlerTransform},
		}},
		{"`GetResourceWithOptions`", "nodes.txt", "GET /api/v1/namespaces/default/pods/app/log", []articleRow{
			{"`handlers.GetResourceWithOptions`", steps.HandlerGet},
			{"`getRequestOptions`", steps.HandlerOptions},
			{"`GetterWithOptions.Get`", steps.RESTGet},
		}},
		{"A table, as kubectl asks for it", "get.txt", "GET /api/v1/namespaces/default/configmaps/app\nAccept: application/json;as=Table;v=v1;g=meta.k8s.io", []articleRow{
			{"`NegotiateOutputMediaType`", steps.HandlerMediaType},
			{"`doTransformObject`", steps.HandlerTransform},
			{"`asTable`, `TableConvertor`", steps.HandlerTable},
		}},
		{"Nobody has the name", "get.txt", "GET /api/v1/namespaces/default/configmaps/absent", []articleRow{
			{"`Store.Get`", steps.StoreGet},
			{"`storeerr.InterpretGetError`", steps.StoreInterpretError},
		}},
		{"`create.go`", "create.txt", "POST /api/v1/namespaces/default/configmaps", []articleRow{
			{"`createHandler`", steps.HandlerCreate},
			{"`scope.Namer.Namespace`", steps.HandlerNamer},
			{"`DecodeParameters` of `CreateOptions`", steps.HandlerOptions},
			{"`decoder.Decode`", steps.HandlerDecode},
			{"`r.Create`", steps.RESTCreate},
			{"`transformResponseObject`", steps.HandlerEncode},
		}},
		{"`delete.go`", "delete.txt", "DELETE /api/v1/namespaces/default/configmaps/a", []articleRow{
			{"`DeleteResource`", steps.HandlerDelete},
			{"`DecodeParameters` of `DeleteOptions`", steps.HandlerOptions},
			{"`r.Delete`", steps.RESTDelete},
		}},
		{"An object of a collection is gone meanwhile", "conflict.txt", "DELETE /api/v1/namespaces/default/configmaps?labelSelector=color%3Dred", []articleRow{
			{"`DeleteCollection`", steps.HandlerDeleteCollection},
			{"`Store.DeleteCollection`", steps.StoreDeleteCollection},
			{"`storage.NewKeyNotFoundError`", steps.Etcd3NotFound},
			{"`InterpretDeleteError`", steps.StoreInterpretError},
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

func (c *articleChain) write(t *testing.T, doc *strings.Builder, sites map[steps.ID]takenAt) {
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
func reasonIn(t *testing.T, journey []goldenStep, step steps.ID, text string) string {
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
func goldenJourney(t *testing.T, file, request string) (walk []goldenStep) {
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
				return walk
			}
			if m := goldenStepLine.FindStringSubmatch(line); m != nil {
				walk = append(walk, goldenStep{step: m[1], function: m[2]})
			} else if m := goldenWhyLine.FindStringSubmatch(line); m != nil && len(walk) > 0 {
				walk[len(walk)-1].why = m[1]
			}
		}
		return walk
	}
	t.Errorf("%s has no request %q", file, request)
	return nil
}

// takenAt is where the code takes a step.
type takenAt struct{ function, file string }

// sitesOf finds the function that takes each step.
func sitesOf(t *testing.T) map[steps.ID]takenAt {
	t.Helper()
	all, err := sites.All(server.Source(), lang.English)
	if err != nil {
		t.Fatal(err)
	}
	sites := map[steps.ID]takenAt{}
	for _, s := range all {
		id, _ := steps.Lookup(s.ID)
		_, function, _ := strings.Cut(path.Base(s.Function), ".")
		sites[id] = takenAt{function, s.File}
	}
	return sites
}
