/**
 * Loaded into a service before its own code (`node --import`): writes each script that V8 compiles to the file that
 * SCRIPT_LOG names, one JSON text a line. A script made of text (`eval`, `new Function`, `vm`) has no file as its URL.
 */
import { appendFileSync } from 'node:fs'
import { Session } from 'node:inspector'

const { SCRIPT_LOG: log } = process.env
if (log === undefined) throw new Error('SCRIPT_LOG names no file.')
const session = new Session()
session.connect()
session.on('Debugger.scriptParsed', ({ params: { url, stackTrace } }) => {
  const compiledBy = stackTrace?.callFrames.find(frame => frame.url !== '')?.url ?? ''
  appendFileSync(log, `${JSON.stringify({ url, compiledBy })}\n`)
})
session.post('Debugger.enable')
