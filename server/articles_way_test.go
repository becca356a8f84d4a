package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
)

// inBoth is a text in both languages of the documents.
type inBoth struct{ en, zh string }

func (b inBoth) in(l lang.Language) string {
	if l == lang.Chinese {
		return b.zh
	}
	return b.en
}

// source is what is known of an article.
type source struct {
	title, author, site string
	release             inBoth
	way                 []wayRow
}

// wayRow is one paragraph of an article, told again: what it shows, what became of that, and where it is seen here.
type wayRow struct {
	then, now, here inBoth
	step            steps.ID
	lesson          string // the ID of the lesson that shows it
}

var same = inBoth{"the same", "相同"}

// paragraphs are in the order of the articles.
var paragraphs = []source{
	{"kubernetes apiserver源码: CustomResource http接口的动态注册", "", "",
		inBoth{"1.21 or 1.22: it names none, but `etcd3.New` takes a `LeaseManagerConfig` there (not in 1.20), and `newETCD3Storage` a `storagebackend.Config` (1.23: a `ConfigForResource`)",
			"1.21 或 1.22：文中没有写，但 `etcd3.New` 有参数 `LeaseManagerConfig`（1.20 没有），`newETCD3Storage` 的参数是 `storagebackend.Config`（1.23 起是 `ConfigForResource`）"},
		[]wayRow{
			{inBoth{"One handler takes all of /apis/; a new definition changes no route", "一个 handler 接下 /apis/ 下的所有路径；新的 CRD 不改动任何路由"}, same,
				inBoth{"the router of each server leaves what it does not know to the next one; there is no go-restful", "每个 server 的路由器把不认识的路径留给下一个；没有 go-restful"}, steps.HandlerRoute, "delegation"},
			{inBoth{"`crdHandler.ServeHTTP` reads from the request which resource is meant, and asks an informer for its definition", "`crdHandler.ServeHTTP` 从请求里读出是哪个资源，再向 informer 要它的 CRD"}, same,
				inBoth{"the definitions are kept by one list and one watch; a definition that is unknown is first looked up in etcd, so that nobody waits for the watch", "CRD 由一次 list 和一个 watch 保存在内存里；不认识的 CRD 先到 etcd 里查，所以不必等 watch"}, steps.CRDServe, "definition"},
			{inBoth{"`getOrCreateServingInfoFor` makes storages and scopes of a definition once, and keeps them", "`getOrCreateServingInfoFor` 为一个 CRD 建好各版本的 storage 和 scope，只建一次，然后留用"}, same,
				inBoth{"the reason says whether this request built it, and how long that took", "原因里写着是不是这个请求建的，用了多久"}, steps.CRDInfo, "definition"},
			{inBoth{"A switch on the subresource chooses `serveResource`, `serveStatus` or `serveScale`", "按子资源选择 `serveResource`、`serveStatus` 或 `serveScale`"}, same, same, steps.CRDServeResource, "definition"},
			{inBoth{"The handler is wrapped: `InstrumentHandlerFunc` counts, `WithWaitGroup` keeps the definition's storage until it is done", "handler 外面还包着两层：`InstrumentHandlerFunc` 计数，`WithWaitGroup` 让 CRD 的 storage 留到它做完"}, same,
				inBoth{"one filter counts all requests, and the reason names the metrics and labels; the storage of a changed definition ends with its last request", "一个过滤器统计所有请求，原因里写着是哪些指标、哪些标签；CRD 改动之后，旧的 storage 随最后一个请求结束"}, steps.HandlerMetrics, "first-get"},
			{inBoth{"`GetResource` wraps the storage into `getResourceHandler`, which calls `r.Get`", "`GetResource` 把 storage 包进 `getResourceHandler`，由它调用 `r.Get`"}, same,
				inBoth{"`rest.get` is the line between HTTP and storage", "`rest.get` 是 HTTP 与存储的分界"}, steps.RESTGet, "first-get"},
			{inBoth{"`REST.Get` calls the Store and copies the object's metadata (`shallowCopyObjectMeta`)", "`REST.Get` 调用 Store，再复制对象的 metadata（`shallowCopyObjectMeta`）"},
				inBoth{"`REST` has no `Get` of its own any more: the Store's is embedded", "`REST` 不再有自己的 `Get`，用的是内嵌的 Store 的"},
				inBoth{"it passes bytes on, if the answer can be made of them", "能用字节直接作答时，它只传递字节"}, steps.CustomGet, "definition"},
			{inBoth{"`Store.Get` makes the key and asks the storage", "`Store.Get` 生成键，再问存储"}, same, same, steps.StoreGet, "first-get"},
			{inBoth{"`DryRunnableStorage` passes reads on", "`DryRunnableStorage` 对读请求直接放行"}, same, same, steps.DryRunGet, "first-get"},
			{inBoth{"The article goes on with `UndecoratedStorage`: no cache", "文中接下去的是 `UndecoratedStorage`：没有缓存"},
				inBoth{"custom resources have a watch cache unless it is turned off", "除非关掉，自定义资源也有 watch 缓存"},
				inBoth{"the same; `--watch-cache=false` shows the article's way", "相同；用 `--watch-cache=false` 可以看到文中的路"}, steps.CacherGet, "cache"},
			{inBoth{"`store.Get` of etcd3 reads the key by `client.KV.Get`, and transforms and decodes the value", "etcd3 的 `store.Get` 用 `client.KV.Get` 读键，再转换、解码"},
				inBoth{"the client is etcd's own for Kubernetes (`client.Kubernetes.Get`)", "客户端换成 etcd 专为 Kubernetes 提供的（`client.Kubernetes.Get`）"},
				inBoth{"`KV.Get`; a value that is sent as it is stored is not decoded", "`KV.Get`；存的是什么样就发什么样的值，不解码"}, steps.Etcd3Get, "storage"},
			{inBoth{"`RecordEtcdRequestLatency` records how long etcd took", "`RecordEtcdRequestLatency` 记录 etcd 用了多久"},
				inBoth{"errors are counted too", "也统计错误"}, same, steps.Etcd3Metrics, "first-get"},
		}},
	{"K8s Apiserver 中的存储层调用链路梳理", "weak old dog", "https://loverhythm1990.github.io/2021/09/13/etcd-in-k8s/",
		inBoth{"1.18 or older: resourceVersion is a parameter of `storage.Interface.Get`, and `StorageWithCacher` takes a size (neither in 1.19)",
			"1.18 或更早：`storage.Interface.Get` 的参数里有 resourceVersion，`StorageWithCacher` 的参数是大小（1.19 起都没有了）"},
		[]wayRow{
			{inBoth{"Each resource has a storage.go, and each group a file that puts its storages into a map", "每个资源有一个 storage.go，每个组有一个文件把它的 storage 放进 map"}, same,
				inBoth{"a resource is one value in server/builtin, and a table has all of them", "一个资源是 server/builtin 里的一个值，一张表列出全部"}, steps.InstallProvider, "routes"},
			{inBoth{"`rest.Storage` demands `New`; what else a storage can do shows its type", "`rest.Storage` 只要求 `New`；其余能做什么由它的类型表明"},
				inBoth{"it demands `Destroy` too", "还要求 `Destroy`"},
				inBoth{"one small interface for each verb; the reason of `install.verb` names the one that is missing", "每个动词一个小接口；`install.verb` 的原因里写着缺了哪一个"}, steps.InstallVerb, "own-storage"},
			{inBoth{"`NewREST` fills in a Store: constructors, strategies, columns; `CompleteWithOptions` does the rest", "`NewREST` 填好 Store：构造函数、strategy、表格列；其余由 `CompleteWithOptions` 补全"}, same, same, steps.StorageComplete, "routes"},
			{inBoth{"`StatusREST` has a copy of the Store with another update strategy", "`StatusREST` 用的是 Store 的副本，换了更新的 strategy"}, same, same, steps.StatusUpdate, "subresources"},
			{inBoth{"Strategies prepare and validate before a create; hooks after it exist, and no resource uses them, it says", "strategy 在创建前准备和校验；创建后的 hook 有定义，但没有资源使用"},
				inBoth{"there are hooks that begin and finish: services allocate their addresses so", "有成对的开始与结束 hook：Service 用它们分配地址"}, same, steps.StoreBegin, "create"},
			{inBoth{"`storage.Interface` has `List`, `GetToList` for one key, `Watch` and `WatchList`", "`storage.Interface` 有 `List`、只读一个键的 `GetToList`、`Watch` 和 `WatchList`"},
				inBoth{"one `GetList` and one `Watch`, with options", "只剩 `GetList` 和 `Watch`，参数在 options 里"}, same, steps.StoreList, "lists"},
			{inBoth{"`GuaranteedUpdate` tries until no other write lies between", "`GuaranteedUpdate` 反复尝试，直到中间没有别的写入"}, same,
				inBoth{"each attempt is a step `store.try-update`, with the revision that it is on", "每次尝试是一个步骤 `store.try-update`，写着基于哪个修订版本"}, steps.Etcd3Update, "conflict"},
			{inBoth{"`GetRESTOptions` chooses between `UndecoratedStorage` and `StorageWithCacher`", "`GetRESTOptions` 在 `UndecoratedStorage` 与 `StorageWithCacher` 之间选择"},
				inBoth{"the same, without a size: the cache grows and shrinks by itself", "相同，但没有大小：缓存自己伸缩"}, same, steps.StorageOptions, "storage"},
			{inBoth{"`Cacher.Get` without a resourceVersion leaves the read to etcd", "`Cacher.Get` 没有 resourceVersion 时交给 etcd 读"},
				inBoth{"the same, in `CacheDelegator.Get`", "相同，在 `CacheDelegator.Get` 里"},
				inBoth{"etcd is asked for the key's revision only; if the cache has that revision, it answers. The answer is as new, and of fewer bytes", "只向 etcd 问这个键的修订版本；缓存里正是这个版本就由缓存作答。结果一样新，读的字节更少"}, steps.CacherGet, "cache"},
			{inBoth{"`WaitUntilFreshAndGet` waits for a revision; the article leaves open how", "`WaitUntilFreshAndGet` 等待某个修订版本；文中没有展开"}, same,
				inBoth{"the step says for which revision it waited, and how long", "步骤里写着等的是哪个修订版本，等了多久"}, steps.CacherWait, "cache"},
		}},
	{"kube-apiserver handler 注册源码分析", "weak old dog", "https://loverhythm1990.github.io/",
		inBoth{"1.16 to 1.18: among the providers are discovery (1.16 on) and auditregistration (not in 1.19)",
			"1.16 到 1.18：provider 里有 discovery（1.16 起）和 auditregistration（1.19 起没有）"},
		[]wayRow{
			{inBoth{"apps has a map of storages for each version: deployments, their status, their scale", "apps 组每个版本有一个 storage 的 map：deployments、status、scale"},
				inBoth{"v1 alone: v1beta1 and v1beta2 are gone", "只剩 v1：v1beta1 和 v1beta2 已经没有了"},
				inBoth{"`--runtime-config` turns the old versions on, to look at them", "可以用 `--runtime-config` 打开旧版本来看"}, steps.InstallProvider, "routes"},
			{inBoth{"`APIGroupInfo` has the storages by version and resource", "`APIGroupInfo` 按版本和资源保存 storage"}, same, same, steps.InstallGroups, "routes"},
			{inBoth{"`CreateServerChain` makes the servers, each with the next one as its delegate; `New` collects the providers", "`CreateServerChain` 依次建立各个 server，每个以下一个为 delegate；`New` 收集 provider"}, same, same, steps.InstallAPIs, "routes"},
			{inBoth{"`installAPIResources` and `InstallREST` go through versions and storages", "`installAPIResources` 与 `InstallREST` 遍历版本和 storage"}, same,
				inBoth{"routes go into kx's own router", "路由进入 kx 自己的路由器"}, steps.InstallVersion, "routes"},
			{inBoth{"`registerResourceHandlers` asks by type assertions which verbs a storage has", "`registerResourceHandlers` 用类型断言问 storage 有哪些动词"}, same,
				inBoth{"the same; `install.verb` has a step for each question", "相同；每一问是一个步骤 `install.verb`"}, steps.InstallHandlers, "own-storage"},
			{inBoth{"`getResourceHandler` finds the name, the media type, calls the getter, and writes the answer; `LogIfLong` logs a slow one", "`getResourceHandler` 取名称、定媒体类型、调用 getter、写响应；慢的由 `LogIfLong` 记日志"},
				inBoth{"a span of OpenTelemetry took the place of `utiltrace`", "OpenTelemetry 的 span 代替了 `utiltrace`"},
				inBoth{"each of these is a step with its time", "每一件都是一个带用时的步骤"}, steps.HandlerGet, "first-get"},
			{inBoth{"`GetResourceWithOptions` has the storage make options of the query, as for logs", "`GetResourceWithOptions` 让 storage 从查询参数得到 options，例如日志"}, same, same, steps.HandlerOptions, "routes"},
			{inBoth{"create.go, delete.go and the others stand beside get.go", "create.go、delete.go 等与 get.go 在一起"}, same,
				inBoth{"the same names, in server/handler", "文件名相同，在 server/handler"}, steps.HandlerCreate, "create"},
		}},
}

// words of the documents.
var (
	wayColumns = inBoth{"then | now, in Kubernetes 1.37 | in kx | see it", "当时 | 现在（Kubernetes 1.37） | 在 kx 里 | 亲眼看"}
	noSite     = inBoth{"the text names neither author nor site", "文中没有作者和网址"}
	about      = inBoth{"\n**%s** (%s) is about Kubernetes %s.\n", "\n**%s**（%s），所讲的是 Kubernetes %s。\n"}
	reached    = inBoth{"%s: `%s`, %s", "%s：`%s`，%s"}
)

// write writes what is known of the article, and its way.
func (s *source) write(t *testing.T, doc *strings.Builder, l lang.Language, sites map[steps.ID]takenAt, lessons map[string]string) {
	who := noSite.in(l)
	if s.author != "" {
		who = s.author + ", " + s.site
	}
	fmt.Fprintf(doc, about.in(l), s.title, who, s.release.in(l))
	fmt.Fprintf(doc, "\n| %s |\n| --- | --- | --- | --- |\n", wayColumns.in(l))
	for _, row := range s.way {
		info := row.step.Info()
		if info.Upstream.Symbol == "" {
			t.Errorf("%s has no function upstream", row.step)
		}
		at, known := sites[row.step]
		file := lessons[row.lesson]
		if !known || file == "" {
			t.Errorf("%s: the step is taken nowhere, or there is no lesson %q", row.step, row.lesson)
		}
		now := fmt.Sprintf(reached.in(l), row.now.in(l), info.Upstream.Symbol, info.Upstream.File)
		here := fmt.Sprintf(reached.in(l), row.here.in(l), row.step, "`"+at.function+"`, "+at.file)
		see := fmt.Sprintf("`kx trace ls %s` · [`kx learn %s`](learn/%s/%s)", seenBy(row.step), row.lesson, l, file)
		fmt.Fprintf(doc, "| %s | %s | %s | %s |\n", row.then.in(l), now, here, see)
	}
}

// seenBy is the filter, as a shell's word, that finds what took a step. The installations of resources are no requests: they are asked for.
func seenBy(step steps.ID) string {
	filter := "step:" + step.String()
	if layer, _, _ := strings.Cut(step.String(), "."); layer == "install" || layer == "storage" {
		filter = "'verb:install " + filter + "'"
	}
	return filter
}

// lessonFiles are the files of the lessons, by ID.
func lessonFiles(t *testing.T, l lang.Language) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(articlesFile), "learn", l.String(), "*.md"))
	must(t, err)
	byID := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(t, err)
		_, rest, _ := strings.Cut(string(data), "\nid: ")
		id, _, _ := strings.Cut(rest, "\n")
		byID[id] = filepath.Base(file)
	}
	return byID
}

const chineseHead = `# 三篇文章，在 kx 里走一遍

有三篇文章按调用链讲 Kubernetes API server。这里按它们的段落，用我们自己的话写出：文章所讲的版本当时怎么做，Kubernetes 1.37 现在怎么做，
kx 里是哪一步、哪个函数、哪个文件，以及怎样亲眼看到。文章、现在的 Kubernetes 与 kx 不同的地方，都写明了。

` + "`kx trace ls step:…`" + ` 列出走过这一步的请求，` + "`kx trace show ID --lang zh`" + ` 显示其中一个；` + "`kx trace steps 名字`" + ` 按文章里的函数名找到步骤。
每条调用链的逐步对照在 [articles.md](articles.md)（英文）。

本文由测试生成：` + "`go test ./server -run TestArticles -rewrite`" + `。
`

// chineseArticles is articles.zh.md.
func chineseArticles(t *testing.T, sites map[steps.ID]takenAt) string {
	var doc strings.Builder
	doc.WriteString(chineseHead)
	lessons := lessonFiles(t, lang.Chinese)
	for i, title := range []string{"自定义资源是怎样提供服务的", "从 REST 存储到 etcd", "handler 是怎样注册的，做些什么"} {
		fmt.Fprintf(&doc, "\n## %s\n", title)
		paragraphs[i].write(t, &doc, lang.Chinese, sites, lessons)
	}
	return doc.String()
}

// sameAs compares a document with what it should be, or writes it anew.
func sameAs(t *testing.T, file, want string, rewrite bool) {
	t.Helper()
	if rewrite {
		must(t, os.WriteFile(file, []byte(want), 0o644))
	}
	have, err := os.ReadFile(file)
	if err != nil || string(have) != want {
		t.Errorf("%s is not what the steps and the transcripts say (%v): go test ./server -run TestArticles -rewrite", file, err)
	}
}
