package synth

import "strings"

// The words that synthetic prose is made of. They are common and short, so
// that most of them are one token in every vocabulary.
var (
	nouns = words(`river mountain garden window letter engine market village teacher doctor captain
		sailor farmer painter soldier writer driver singer student worker brother sister mother father
		daughter husband neighbor stranger traveler merchant bridge tower castle harbor island forest
		valley desert meadow field road street corner station train ship boat wagon bicycle carriage
		kitchen table chair mirror candle lamp clock basket bottle bucket blanket jacket hammer ladder
		needle paper pencil picture book map journal story song poem question answer secret promise
		number signal message morning evening winter summer autumn spring weather storm thunder shadow
		silence music color machine computer network server account record system program project
		company office factory school museum theater church hospital library palace prison temple
		apple orange bread butter coffee sugar pepper salt honey cheese dinner breakfast horse rabbit
		eagle spider turtle wolf tiger lion bear fox cat dog bird fish tree flower grass leaf stone
		metal copper silver gold iron glass cotton leather`)
	verbs = words(`carried followed watched crossed opened closed painted repaired discovered remembered
		forgot measured counted described ignored collected delivered examined finished gathered guarded
		imagined invented joined noticed offered ordered planned prepared promised protected pushed
		reached received refused removed replaced returned searched shared studied supported touched
		trusted visited wanted welcomed lifted moved turned covered found kept built bought sold drew
		lost made sent took taught told understood chose broke caught`)
	adjectives = words(`quiet heavy narrow bright ancient modern gentle careful curious distant empty
		familiar foreign frozen golden hidden hollow honest little lonely lovely massive nervous ordinary
		patient perfect polite precious proud public quick rapid rough royal simple silent sharp slow small
		smooth solid strange strong sudden tall thick tiny tired typical unusual useful warm wild wise
		wooden young yellow purple green blue white black clear cold common complete deep dry early false
		fresh full great hard late large long low new old open plain poor rich round short soft sweet`)
	places = words(`beyond near under above behind beside around toward across inside outside against
		before after along past through without`)
	times = words(`yesterday today later again twice slowly quickly quietly finally always never often
		together alone everywhere nowhere perhaps almost nearly carefully`)
	counts = words(`two three four five six seven eight nine ten twelve twenty thirty several many few`)
)

func words(s string) []string { return strings.Fields(s) }
