/** Video that a client is reading. */
export interface Watching {
  readonly end: () => Promise<void>;
  readonly isOver: () => boolean;
}

/** Reads a response from its first bytes until it is closed, or ended here. */
export async function watchUntilCut(answer: Response): Promise<Watching> {
  const reader = answer.body?.getReader();
  await reader?.read();
  let isOver = false;
  void (async () => {
    for (let read = await reader?.read(); read?.done === false; ) read = await reader?.read();
  })()
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  // A closed response cannot be ended.
  return { end: async () => reader?.cancel().catch(() => undefined), isOver: () => isOver };
}
