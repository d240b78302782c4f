import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import graphql from 'highlight.js/lib/languages/graphql'
import http from 'highlight.js/lib/languages/http'
import ini from 'highlight.js/lib/languages/ini'
import json from 'highlight.js/lib/languages/json'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'

const languages = { bash, graphql, http, ini, json, php, python, sql, typescript }

for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language)

/**
 * Returns the HTML of a text, with the elements that `packages/pages/src/guides.css` colors.
 *
 * @param language the name of a language, or an empty text for plain text
 * @throws Error for an unknown language
 */
export function highlight(text: string, language: string): string {
  if (language !== '' && !Object.hasOwn(languages, language)) throw new Error(`No language is named ${language}.`)
  return language === '' ? escapeHtml(text) : hljs.highlight(text, { language }).value
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Returns the text, in which the characters that have a meaning in HTML are escaped. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, character => entities[character] ?? '')
