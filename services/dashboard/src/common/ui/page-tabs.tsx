import { Tabs } from '@mantine/core';
import type { ReactNode } from 'react';

/** One tab of a page: its name in the address, its label, and its content. */
interface PageTab {
  readonly name: string;
  readonly label: string;
  readonly content: ReactNode;
}

interface PageTabsProps {
  readonly tabs: readonly PageTab[];
  readonly current: string;
  /** Name of the list of tabs, where the heading of the page does not name it. */
  readonly label?: string;
  readonly onChange: (name: string) => void;
}

/** Shows the tabs of a page. Only the current one is rendered. */
export function PageTabs({ tabs, current, label: listLabel, onChange }: PageTabsProps) {
  return (
    <Tabs value={current} keepMounted={false} onChange={(name) => onChange(name ?? current)}>
      <Tabs.List mb="lg" aria-label={listLabel}>
        {tabs.map(({ name, label }) => (
          <Tabs.Tab key={name} value={name}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ name, content }) => (
        <Tabs.Panel key={name} value={name}>
          {content}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
