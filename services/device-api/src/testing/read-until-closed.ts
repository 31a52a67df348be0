/** Video that a client is reading. */
export interface ResponseReader {
  readonly end: () => Promise<void>;
  readonly isClosed: () => boolean;
}

/** Reads a response from its first bytes until it is closed, or ended here. */
export async function readUntilClosed(response: Response): Promise<ResponseReader> {
  const reader = response.body?.getReader();
  await reader?.read();
  let isClosed = false;
  void (async () => {
    for (let read = await reader?.read(); read?.done === false; ) read = await reader?.read();
  })()
    .catch(() => undefined)
    .finally(() => {
      isClosed = true;
    });
  // A closed response cannot be ended.
  return { end: async () => reader?.cancel().catch(() => undefined), isClosed: () => isClosed };
}
