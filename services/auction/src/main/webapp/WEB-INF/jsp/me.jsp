<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="My auctions">
<p>Signed in as <a href="/users/${person.id()}"><c:out value="${person.nickname()}"/></a>, rating ${person.rating()}.</p>
<h2>My bids</h2>
<table>
<thead><tr><th>Item</th><th class="number">My bid</th><th class="number">Highest</th></tr></thead>
<tbody>
<c:forEach items="${bids}" var="bid">
<tr><td><a href="/items/${bid.item()}"><c:out value="${bid.name()}"/></a></td>
<td class="number">${bid.mine().shown()}</td><td class="number">${bid.highest().shown()}</td></tr>
</c:forEach>
</tbody>
</table>
<h2>My sales</h2>
<site:items of="${sales}"/>
<h2>My purchases</h2>
<table>
<thead><tr><th>Item</th><th class="number">Quantity</th><th>Bought</th></tr></thead>
<tbody>
<c:forEach items="${purchases}" var="purchase">
<tr><td><a href="/items/${purchase.item()}"><c:out value="${purchase.name()}"/></a></td>
<td class="number">${purchase.quantity()}</td><td>${purchase.bought()}</td></tr>
</c:forEach>
</tbody>
</table>
<h2>What others say about me</h2>
<site:comments of="${comments}"/>
</site:page>
