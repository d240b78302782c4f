import { mkdirSync, writeFileSync } from 'node:fs'
import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** True when `PICTURES=on` is set: the tests save the screenshots of the docs. */
export const takesScreenshots = process.env.PICTURES === 'on'

/** True when `LOOKS=long` is set, as in the nightly run: axe-core, which takes most of the time, checks all views. */
export const isLongRun = process.env.LOOKS === 'long'

export interface View {
  width: number
  colorScheme: 'light' | 'dark'
}

/** Two views that cover both widths and both colour schemes. */
export const views: readonly [View, View] = [
  { width: 1280, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
]

/** The views in which axe-core checks a page: all views in a long run, and else only the narrow view. */
export const checkedViews: readonly View[] = isLongRun ? views : [views[1]]

/**
 * Checks in each view, without a reload, that the current page is not wider than the screen, and that axe-core finds
 * nothing in the checked views. Problems fail the test, but only at its end.
 */
export async function checkLook(page: Page, name: string): Promise<void> {
  const problems: string[] = []
  // After a click, a new page may be shown before all of its content has arrived.
  await page.waitForLoadState('load')
  // axe-core is evaluated, because the Content-Security-Policy would block a script element.
  await page.evaluate(axe.source)
  for (const view of views) {
    const { width, colorScheme } = view
    const place = `${name}, ${width} px, ${colorScheme}`
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    await untilDrawn(page)
    const excess = await readExcessWidth(page)
    if (excess > 0) problems.push(`${place}: ${excess} px wider than the screen`)
    const found = checkedViews.includes(view) ? await findViolations(page) : []
    problems.push(...found.map(violation => `${place}: ${violation}`))
  }
  expect.soft(problems).toEqual([])
}

/** Waits for two frames. In the first frame the page adapts to its size, and repairs the elements of other programs. */
export const untilDrawn = (page: Page) =>
  page.evaluate<void>('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))')

/**
 * Waits until axe-core finds nothing on a page of another program, and checks that the page is not wider than the
 * screen.
 *
 * @param rules the last two parameters of `findViolations`
 */
export async function untilAccessible(page: Page, name: string, ...rules: (readonly string[])[]): Promise<void> {
  await page.evaluate(axe.source)
  await untilDrawn(page)
  await expect.poll(() => findViolations(page, ...rules), { message: name, timeout: 30_000 }).toEqual([])
  expect(await readExcessWidth(page), name).toBe(0)
}

/**
 * Returns the violations that axe-core finds. The page must have evaluated the source of axe-core.
 *
 * @param left the rules that axe-core does not report
 * @param added more rules to check, which axe-core does not check by default
 */
async function findViolations(
  page: Page,
  left: readonly string[] = [],
  added: readonly string[] = [],
): Promise<string[]> {
  const rules = Object.fromEntries(added.map(rule => [rule, { enabled: true }]))
  const options = JSON.stringify({ resultTypes: ['violations'], rules })
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${options})`)
  return violations
    .filter(({ id }) => !left.includes(id))
    .map(({ id, nodes }) => {
      const places = nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`)
      return [id, ...places].join('\n')
    })
}

/** Returns the number of pixels by which the page is wider than the screen. */
const readExcessWidth = (page: Page) =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')

/**
 * Saves a screenshot for the docs.
 *
 * @param height the height of the screenshot in pixels, for a long page
 */
export async function saveScreenshot(page: Page, name: string, height?: number): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  const clip = height === undefined ? undefined : { x: 0, y: 0, width: 1280, height }
  const png = await page.screenshot({ fullPage: true, ...(clip && { clip }) })
  mkdirSync('docs/images', { recursive: true })
  writeFileSync(`docs/images/${name}.png`, png)
}
