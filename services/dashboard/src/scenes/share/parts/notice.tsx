import type { ReactNode } from 'react';

/** Shows one sentence instead of the vehicle, with a next step. */
export function Notice({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <main className="share-notice">
      <h1>{title}</h1>
      {children}
    </main>
  );
}
