import { mkdirSync, writeFileSync } from 'node:fs'
import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const screenshots = 'test/screenshots'

/** Each width and each scheme is looked at once. */
export const views = [
  { width: 1280, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
] as const

/**
 * Checks the current page, wide and light, then narrow and dark, without loading it again: axe-core finds nothing, and the
 * page is not wider than the screen. The findings fail the test when it ends. With `PICTURES=on` it leaves a picture of
 * each in test/screenshots.
 */
export async function look(page: Page, name: string): Promise<void> {
  const problems: string[] = []
  // After a click, a new page may be shown while its rest arrives.
  await page.waitForLoadState('load')
  // It does not run as a script of the page, because the Content-Security-Policy would block it.
  await page.evaluate(axe.source)
  for (const { width, colorScheme } of views) {
    const place = `${name}, ${width} px, ${colorScheme}`
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    // The page adapts to its new size within a frame: what scrolls then can be focused.
    await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
    const excess = await excessOf(page)
    if (excess > 0) problems.push(`${place}: ${excess} px wider than the screen`)
    problems.push(...(await violations(page)).map(violation => `${place}: ${violation}`))
    await screenshot(page, `${name}-${width}-${colorScheme}`)
  }
  expect.soft(problems).toEqual([])
}

/** Leaves a picture of the whole page in test/screenshots, when pictures are asked for: it takes as long as the checks. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (process.env.PICTURES !== 'on') return
  mkdirSync(screenshots, { recursive: true })
  await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true })
}

/**
 * Returns the findings of axe-core, whose source the page has evaluated.
 *
 * @param left the rules that are left out
 * @param added rules that axe-core does not check by default
 */
export async function violations(
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

/** Returns by how many pixels the page is wider than the screen. */
export const excessOf = (page: Page) =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')

/**
 * Takes a picture for the docs; it is put there only when the pictures are asked for.
 *
 * @param height how much of a long page it shows, in pixels
 */
export async function picture(page: Page, name: string, height?: number): Promise<void> {
  if (process.env.PICTURES !== 'on') return
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  const clip = height === undefined ? undefined : { x: 0, y: 0, width: 1280, height }
  const png = await page.screenshot({ fullPage: true, ...(clip && { clip }) })
  mkdirSync('docs/images', { recursive: true })
  writeFileSync(`docs/images/${name}.png`, png)
}
