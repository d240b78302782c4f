/** The reading process: takes an export, or a COPY, as fast as it comes, and reports the bytes and the end. */

import { get } from 'node:http'
import { createBrotliDecompress, createGunzip } from 'node:zlib'

function read({ url, headers }) {
  return new Promise((resolve, reject) => {
    const start = performance.now()
    const request = get(url, { headers }, response => {
      if (response.statusCode !== 200) return reject(new Error(`${response.statusCode}`))
      let received = 0
      let tail = ''
      response.on('data', chunk => {
        received += chunk.length
      })
      const coding = response.headers['content-encoding']
      const decoder = { gzip: createGunzip, br: createBrotliDecompress }[coding]?.()
      const plain = decoder ? response.pipe(decoder) : response
      plain.on('data', chunk => {
        tail = (tail + chunk.subarray(-200).toString('latin1')).slice(-200)
      })
      plain.on('end', () => resolve({ seconds: (performance.now() - start) / 1000, received, tail }))
      plain.on('error', reject)
      response.on('error', reject)
    })
    request.on('error', reject)
  })
}

process.on('message', async order => {
  try {
    process.send(await read(order))
  } catch (error) {
    process.send({ error: String(error) })
  }
})
