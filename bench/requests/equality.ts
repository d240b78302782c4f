import type { Call } from './calls.ts'
import type { Answer, Asked } from './doors.ts'
import type { Contender } from './line-up.ts'

/** @returns what a contender answers to one request @throws when that is no 200 */
async function answer({ origin, door }: Contender, call: Call, { path, ...init }: Asked): Promise<Answer> {
  const response = await fetch(new URL(path, origin), init)
  const body = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${body.slice(0, 300)}`)
  return door.read(call.operation, JSON.parse(body))
}

/** @returns where two texts part, with what stands around it */
function difference(one: string, other: string): string {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const around = (text: string) => text.slice(Math.max(0, at - 120), at + 80)
  return `\n  ${around(one)}\n  ${around(other)}`
}

/**
 * Lets all answer the same requests, and compares what they say with what the first of them says.
 *
 * @param requests each contender's, in the order of the call's samples
 * @param count how many of them, spread over the samples
 * @returns how many records were compared
 * @throws at the first difference, or when the answers hold nothing to compare
 */
export async function compareAnswers(call: Call, requests: Map<Contender, Asked[]>, count: number): Promise<number> {
  const total = call.samples.length
  const step = Math.max(1, Math.floor(total / count))
  let records = 0
  for (let sample = 0; sample < total; sample += step) {
    let measure: { name: string; text: string } | undefined
    for (const [contender, asked] of requests) {
      const place = `${call.name}, request ${sample}, ${contender.name}`
      const found = await answer(contender, call, asked[sample]!).catch(error => {
        throw new Error(`${place}: ${error instanceof Error ? error.message : error}`)
      })
      const text = JSON.stringify(found)
      if (!measure) {
        measure = { name: contender.name, text }
        records += Array.isArray(found.data) ? found.data.length : 1
      } else if (measure.text !== text) {
        throw new Error(`${place} is not what ${measure.name} says:${difference(measure.text, text)}`)
      }
    }
  }
  if (records === 0) throw new Error(`${call.name}: nothing was answered that could be compared`)
  return records
}
