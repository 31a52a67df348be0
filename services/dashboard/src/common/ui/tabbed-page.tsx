import type { ReactNode } from 'react';
import type { Me } from '../session/session.ts';
import { useCan } from '../session/session-context.ts';
import { NoPermission } from './no-permission.tsx';
import { PageTabs } from './page-tabs.tsx';

/** One tab: its name in the address, and the permission that it requires. */
interface PermittedTab {
  readonly name: string;
  readonly label: string;
  readonly permission: Me['permissions'][number];
  readonly content: ReactNode;
}

interface TabbedPageProps {
  readonly title: string;
  readonly tabs: readonly PermittedTab[];
  /** The tab of the address; without one, the first that the user may see. */
  readonly tab: string | undefined;
  readonly onChange: (name: string) => void;
}

/** Shows a page of tabs, without those that the user's role does not permit. */
export function TabbedPage({ title, tabs, tab, onChange }: TabbedPageProps) {
  const can = useCan();
  const visible = tabs.filter(({ permission }) => can(permission));
  // A name that does not exist opens the first tab; one that is not permitted says so.
  const wanted = tabs.find(({ name }) => name === tab);
  const current = wanted ?? visible[0];
  if (current === undefined || !visible.includes(current)) return <NoPermission />;
  return (
    <div className="page">
      <h1>{title}</h1>
      <PageTabs tabs={visible} current={current.name} onChange={onChange} />
    </div>
  );
}
