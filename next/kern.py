import csv,sys
for f in sys.argv[1:]:
    rows=[]
    hdr=None
    for line in open(f,errors='replace'):
        if line.startswith('"ID"'): hdr=next(csv.reader([line])); continue
        if hdr and line.startswith('"'):
            r=dict(zip(hdr,next(csv.reader([line])))); rows.append(r)
    print('--',f,len(rows))
    t=0
    for r in rows:
        if r['Metric Name']!='gpu__time_duration.sum': continue
        v=float(r['Metric Value'].replace(',',''))/1000; t+=v
        print('%-70s %-18s %-14s %8.1f'%(r['Kernel Name'].split('(')[0][:70],r['Grid Size'],r['Block Size'],v))
    print('total',t)
