/** Describes the variables of the service, as `.env.example` and `docs/installing.md` have them. */
import { z } from 'zod'
import { variables } from '../src/config/variables.ts'

interface Variable {
  name: string
  text: string
  /** The default as it is written in the environment; empty when there is none. */
  standard: string
}

/** The keys of a variable's JSON Schema that are used here. */
const Described = z.object({
  description: z.string(),
  enum: z.array(z.string()).optional(),
  values: z.string().optional(),
  default: z.union([z.string(), z.array(z.never()).transform(() => '')]).default(''),
})

function readVariables(): Variable[] {
  const { properties = {} } = z.toJSONSchema(variables, { io: 'input' })
  return Object.entries(properties).map(([name, schema]) => {
    const { description, enum: words, values = words?.join(', '), default: standard } = Described.parse(schema)
    const text = description.replaceAll(/\s+/g, ' ')
    return { name, standard, text: values === undefined ? text : `${text} Values: ${values}.` }
  })
}

/** Breaks a text into comment lines of at most 120 characters. */
const toComment = (text: string): string => text.replaceAll(/(.{1,118})(?: |$)/g, '# $1\n')

/** Returns the text of `.env.example`. */
export function toEnvironmentFile(): string {
  const head = `Every variable of the service with its default; \`npm run generate\` writes this file. An empty variable counts as
    not set. Copy this file to .env: every command reads .env in the working directory. Variables of the environment win.
    A value with # or a quotation mark has to be in quotes. Names of other programs are refused.`
  const paragraphs = readVariables().map(({ name, text, standard }) => `${toComment(text)}${name}=${standard}\n`)
  return [toComment(head.replaceAll(/\s+/g, ' ')), ...paragraphs].join('\n')
}

const marker = /(<!-- variables -->\n).*?(<!-- end of variables -->)/s

/**
 * Returns a page of `docs/` with a new table of the variables between its two markers.
 * @throws when the page has no markers
 */
export function withVariables(page: string): string {
  if (!marker.test(page)) throw new Error('The page has no place for the variables.')
  const rows = readVariables().map(({ name, text, standard }) => {
    const linked = text.replaceAll(/docs\/([a-z-]+\.md)/g, '[$&]($1)')
    return `| \`${name}\` | ${standard && `\`${standard}\``} | ${linked} |\n`
  })
  const table = `\n| Variable | Default | |\n|---|---|---|\n${rows.join('')}\n`
  return page.replace(marker, (_, start: string, end: string) => `${start}${table}${end}`)
}
