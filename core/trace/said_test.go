package trace

// Reasons for the tests of this package. They are like those of other packages, with the values that these have.
var (
	allowed          = Because("allowed", "{rule:word}", "{rule:word}")
	cacheNotReady    = Because("cache-not-ready", "the cache is {state:word}: went to etcd", "缓存状态为 {state:word}：改读 etcd")
	cachedAtRevision = Because("cached-at-revision", "resourceVersion unset: etcd has the key at {revision}, and so has the cache: cached bytes", "没有指定 resourceVersion：etcd 中该键在 {revision}，缓存也是：用缓存的字节")
	defaultsSet      = Because("defaults-set", "defaults set, in all {count}: {fields:quote}", "填充了 {count} 个默认值：{fields:quote}")
	fillsAtOnce      = Because("fills-at-once", "--watch-cache-prefill: the cache fills itself at once", "--watch-cache-prefill：缓存立即开始填充")
	keyInNamespace   = Because("key-in-namespace", "NamespaceKeyFunc made {key:word}", "NamespaceKeyFunc 生成 {key:word}")
	keyMoved         = Because("key-moved", "the key is at revision {revision}, not {expected}: nothing was written", "该键在修订版本 {revision}，不是 {expected}：没有写入")
	keyWasFree       = Because("key-was-free", "the key was free", "该键空闲")
	listedLatest     = Because("listed-latest", "resourceVersion unset: etcd is at {etcd}, and so is the cache: {items} items of its state at {revision}", "没有指定 resourceVersion：etcd 在 {etcd}，缓存也是：状态在 {revision}，{items} 个条目")
	noConflict       = Because("no-conflict", "nobody else wrote meanwhile", "期间没有别人写入")
	routesMade       = Because("routes-made", "{routes} routes; verbs without one: {missing}", "{routes} 条路由；没有路由的动词：{missing}")
	storageCan       = Because("storage-can", "the storage is {interfaces:word}", "存储是 {interfaces:word}")
	watchFailed      = Because("watch-failed", "{error:quote}", "{error:quote}")
)
