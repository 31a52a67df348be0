import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { type ChangeEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { parseCsv } from '../../../common/csv/csv.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { csvColumns, type ImportRow, type Names, toImportRows } from '../csv-model.ts';
import { type FaultyLine, useImport } from './use-import.ts';

/** Imports vehicles from a CSV file and names the lines with faults. */
export function ImportDialog({ names, onClose }: { names: Names; onClose: () => void }) {
  const { t } = useTranslation('vehicles');
  const [rows, setRows] = useState<readonly ImportRow[] | null>(null);
  const { state, run } = useImport();
  const read = async ({ currentTarget }: ChangeEvent<HTMLInputElement>): Promise<void> => {
    const file = currentTarget.files?.[0];
    if (file !== undefined) setRows(toImportRows(parseCsv(await file.text()), names));
  };
  const describeFault = (row: ImportRow): string => ('fault' in row ? t('import.unknownName', row.fault) : '');
  const isRunning = state.kind === 'running';
  return (
    <Modal
      opened
      size="lg"
      onClose={onClose}
      closeOnClickOutside={!isRunning}
      title={t('import.title')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <Stack gap="sm">
        <Text>{t('import.hint')}</Text>
        <Text size="xs" c="dimmed">
          {csvColumns.join(', ')}
        </Text>
        <label>
          {t('import.file')} <input type="file" accept=".csv,text/csv" onChange={(event) => void read(event)} />
        </label>
        {rows === null ? null : <Text>{t('import.found', { count: rows.length })}</Text>}
        {state.kind === 'running' ? <Progress {...state} /> : null}
        {state.kind === 'failed' ? <Failure error={state.error} /> : null}
        {state.kind === 'done' ? <ImportResult {...state} /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('common:action.close')}
          </Button>
          <Button
            disabled={rows === null || rows.length === 0}
            loading={isRunning}
            onClick={() => void run(rows ?? [], describeFault)}
          >
            {t('import.start')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Progress({ done, total, waitSeconds }: { done: number; total: number; waitSeconds: number }) {
  const { t } = useTranslation('vehicles');
  return (
    <div role="status">
      <progress value={done} max={Math.max(1, total)} aria-label={t('import.progress', { done, total })} />
      <Text size="sm">{t('import.progress', { done, total })}</Text>
      {waitSeconds > 0 ? <Text size="sm">{t('import.waiting', { seconds: waitSeconds })}</Text> : null}
    </div>
  );
}

interface ImportResultProps {
  readonly created: number;
  readonly updated: number;
  readonly faulty: readonly FaultyLine[];
}

function ImportResult({ created, updated, faulty }: ImportResultProps) {
  const { t } = useTranslation('vehicles');
  return (
    <div role="status">
      <Text fw={600}>{t('import.result', { created, updated, failed: faulty.length })}</Text>
      {faulty.length === 0 ? null : (
        <div className="table-scroll">
          <table className="data">
            <thead>
              <tr>
                <th>{t('import.line')}</th>
                <th>{t('column.number')}</th>
                <th>{t('import.fault')}</th>
              </tr>
            </thead>
            <tbody>
              {faulty.map(({ line, vehicleNo, faults }) => (
                <tr key={line}>
                  <td>{line}</td>
                  <td>{vehicleNo}</td>
                  <td>{faults.join(' ')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
