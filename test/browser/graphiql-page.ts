/** Actions of a person on the page of GraphiQL. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Finds a tab of GraphiQL by its name. */
export const findTab = (page: Page, name: string) =>
  page.locator('.graphiql-tab').getByRole('button', { name, exact: true })

export const findCurrentTab = (page: Page, name: string) =>
  page.locator('.graphiql-tab [aria-current="true"]').getByText(name)

const findOperationEditor = (page: Page) => page.getByRole('region', { name: 'Operation Editor' })
export const findResult = (page: Page) => page.getByRole('region', { name: 'Result Window' })

/**
 * Waits until GraphiQL knows the operation in its editor. After a change of the text, GraphiQL reads the operation's
 * name with a delay, and then stores the text. A run before that would send the name of the former operation.
 */
const untilOperationRead = (page: Page, isRead: (text: string) => boolean) =>
  expect
    .poll(async () => isRead((await page.evaluate<string | null>(`sessionStorage.getItem('graphiql:query')`)) ?? ''))
    .toBe(true)

/** Loads the page, and waits until a query can be run. */
export async function loadPage(page: Page, go: () => Promise<unknown>): Promise<void> {
  await go()
  await findTab(page, 'WhoAmI').waitFor()
  await findOperationEditor(page).locator('.view-line').first().waitFor()
  await findResult(page).locator('.view-line').first().waitFor()
}

export async function openTab(page: Page, name: string): Promise<void> {
  await findTab(page, name).click()
  await findCurrentTab(page, name).waitFor()
  await untilOperationRead(page, query => query.includes(` ${name}(`) || query.includes(` ${name} {`))
}

/** Replaces the text of an editor of the page. */
export async function typeInto(page: Page, editor: 'Operation Editor' | 'Headers', text: string): Promise<void> {
  await page.getByRole('region', { name: editor }).locator('.monaco-editor:visible').click()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.insertText(text)
  // The editor adds closing quotes and brackets, which must be deleted.
  await page.keyboard.press('ControlOrMeta+Shift+End')
  await page.keyboard.press('Delete')
  if (editor === 'Operation Editor') await untilOperationRead(page, query => query === text)
}

/** Runs the query of the open tab, and waits until the result contains a text. */
export async function runQuery(page: Page, text: string | RegExp): Promise<void> {
  await page.getByRole('button', { name: /execute query/i }).click()
  await findResult(page).getByText(text).first().waitFor()
}
