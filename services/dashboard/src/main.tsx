import { ApiFailure } from '@fleet/api-client';
import { MantineProvider, useComputedColorScheme } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import type { ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { config, getNonce } from './common/config.ts';
import { loadAllMessages } from './common/i18n/all-messages.ts';
import { startI18n } from './common/i18n/i18n.ts';
import { prepareLiveConnection } from './common/live/live-connection.ts';
import { Session } from './common/session/session.ts';
import { SessionContext } from './common/session/session-context.ts';
import { resolveCssVariables, theme } from './common/theme/theme.ts';
import { ThemeContext } from './common/theme/theme-context.ts';
import { Loading } from './common/ui/states.tsx';
import './common/ui/styles.ts';
import { createDashboardRouter, preloadPage } from './router.tsx';

const freshMs = 30_000;
const maxRetries = 2;

setNonce(getNonce());
document.title = config.product_name;

const session = new Session(window.location.origin);
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: freshMs,
      // The server's refusals stay the same; only failures of the connection or the server are repeated.
      retry: (count, error) =>
        count < maxRetries && error instanceof ApiFailure && (error.status === 0 || error.status >= 500),
    },
  },
});
const router = createDashboardRouter(session);
/** Undefined until somebody is signed in. */
let currentCustomerId: number | null | undefined;
session.subscribe(() => {
  const { state } = session;
  const customerId = state.kind === 'signedIn' ? (state.customer?.id ?? null) : undefined;
  if (customerId !== undefined && currentCustomerId !== undefined && customerId !== currentCustomerId) {
    // No record of one account may appear in another.
    queries.clear();
    void router.navigate({ to: '/vehicles' });
  }
  currentCustomerId = customerId;
  if (state.kind !== 'signedOut') return;
  queries.clear();
  // Leads to the log-in page, which returns to this address.
  void router.invalidate();
});

const element = document.getElementById('root');
if (element === null) throw new Error('The page has no element #root.');
const root = createRoot(element);

const render = (content: ReactNode): void =>
  root.render(
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      cssVariablesResolver={resolveCssVariables}
      getStyleNonce={getNonce}
    >
      <ThemeOfMantine>{content}</ThemeOfMantine>
    </MantineProvider>,
  );

/** Passes the theme to parts that the page of share links uses too. */
function ThemeOfMantine({ children }: { readonly children: ReactNode }) {
  return <ThemeContext value={useComputedColorScheme('light')}>{children}</ThemeContext>;
}

// The session, the code of the page with its worker, and the messages load at the same time.
const resumed = session.resume();
if (session.state.kind === 'loading') {
  preloadPage(router);
  prepareLiveConnection();
}
await startI18n(loadAllMessages);
// A busy or unreachable server delays the session.
render(<Loading />);
await resumed;
render(
  <SessionContext value={session}>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </SessionContext>,
);
