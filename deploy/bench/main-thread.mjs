// Tasks of the main thread of a page, from a trace of Chromium.

/** Records a trace while `run` runs, and returns the tasks of the page's main thread. */
export async function traceMainThread(browserSession, run) {
  const events = [];
  const collect = ({ value }) => events.push(...value);
  browserSession.on('Tracing.dataCollected', collect);
  await browserSession.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel', 'disabled-by-default-devtools.timeline', 'devtools.timeline'] },
  });
  const startedMs = performance.now();
  await run();
  const seconds = (performance.now() - startedMs) / 1_000;
  const completed = new Promise((resolve) => browserSession.once('Tracing.tracingComplete', resolve));
  await browserSession.send('Tracing.end');
  await completed;
  browserSession.off('Tracing.dataCollected', collect);
  return summarize(events, seconds);
}

// The page is the process whose main thread works most; others are empty.
function summarize(events, seconds) {
  const mainThreads = events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain');
  const [tasks = []] = mainThreads
    .map(({ pid, tid }) =>
      events.filter((each) => each.ph === 'X' && each.name === 'RunTask' && each.pid === pid && each.tid === tid),
    )
    .toSorted((a, b) => b.length - a.length);
  const wall = tasks.map(({ dur }) => dur / 1_000).toSorted((a, b) => a - b);
  const cpu = tasks.map(({ tdur = 0 }) => tdur / 1_000).toSorted((a, b) => a - b);
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  return {
    taskCount: tasks.length,
    longestWallMs: wall.at(-1) ?? 0,
    longestCpuMs: cpu.at(-1) ?? 0,
    p99WallMs: wall[Math.floor(wall.length * 0.99)] ?? 0,
    wallShare: sum(wall) / 1_000 / seconds,
    cpuShare: sum(cpu) / 1_000 / seconds,
  };
}
